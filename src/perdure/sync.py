"""The same surface for code without an event loop.

    from perdure.sync import Memory

    with Memory.open() as memory:
        ada = memory.space("ada")
        ada.save("Ada is allergic to peanuts")

Every call runs on one event loop in a thread of its own, so the worker goes on between calls and the objects may be
used from any thread.
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from perdure.errors import PerdureError
from perdure.memory import Memory as AsyncMemory
from perdure.space import Space as AsyncSpace

P = ParamSpec("P")
T = TypeVar("T")
Inner = TypeVar("Inner")
_CUT_OFF_S = 5.0
"""How long calls that were cancelled by `close` may take to end."""


class _Loop:
    """An event loop that runs in a daemon thread until it is closed."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="perdure-sync", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`. Raises PerdureError after `close`, during it, and in a forked child."""
        try:
            self._require_process()
            with self._lock:
                if self._closed:
                    raise _not_open()
                future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except PerdureError:
            work.close()
            raise
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise
        except CancelledError as error:
            raise PerdureError("This Memory was closed during the call.") from error

    @property
    def inherited(self) -> bool:
        """Whether this is the copy in a forked child, where the thread of the loop does not run."""
        return os.getpid() != self._process

    def close(self, last: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """Runs `last`, cancels what still runs, and ends the thread."""
        with self._lock:
            self._closed = True
        try:
            asyncio.run_coroutine_threadsafe(self._end(last), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _end(self, last: Callable[[], Coroutine[Any, Any, None]] | None) -> None:
        try:
            if last is not None:
                await last()
        finally:
            pending = asyncio.all_tasks() - {asyncio.current_task()}
            for task in pending:
                task.cancel()
            if pending:
                await asyncio.wait(pending, timeout=_CUT_OFF_S)

    def _require_process(self) -> None:
        if self.inherited:
            raise PerdureError("This Memory was opened in another process.", hint="Open it anew in this one.")


def _not_open() -> PerdureError:
    return PerdureError("This Memory is not open.", hint="Use `with Memory.open() as memory:`.")


class _Twin(Protocol[Inner]):
    """A blocking object: the async one that it stands for, and the loop that runs it."""

    _inner: Inner
    _loop: _Loop


def _blocking(
    method: Callable[Concatenate[Inner, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[_Twin[Inner], P], T]:
    """The method of the async class, run to its end; name, arguments and docstring stay the same."""

    @functools.wraps(method)
    def call(self: _Twin[Inner], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._loop.run(method(self._inner, *args, **kwargs))

    return call


class Space:
    """The blocking twin of `perdure.Space`: the same methods, without `await`."""

    def __init__(self, inner: AsyncSpace, loop: _Loop) -> None:
        self._inner = inner
        self._loop = loop

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def audience(self) -> str | None:
        return self._inner.audience

    def run(self, work: Callable[[AsyncSpace], Coroutine[Any, Any, T]]) -> T:
        """What comes of `work` on the async space, in the thread of its event loop: for verbs that stand elsewhere.

        space.run(lambda ada: SpaceItems.of(ada).get(("settings",), "look"))
        """
        return self._loop.run(work(self._inner))

    recall = _blocking(AsyncSpace.recall)
    context = _blocking(AsyncSpace.context)
    inspect_context = _blocking(AsyncSpace.inspect_context)
    savings = _blocking(AsyncSpace.savings)
    capture = _blocking(AsyncSpace.capture)
    feedback = _blocking(AsyncSpace.feedback)
    set_task = _blocking(AsyncSpace.set_task)
    task_recall = _blocking(AsyncSpace.task_recall)
    drain = _blocking(AsyncSpace.drain)
    save = _blocking(AsyncSpace.save)
    search = _blocking(AsyncSpace.search)
    why_not = _blocking(AsyncSpace.why_not)
    get = _blocking(AsyncSpace.get)
    evidence = _blocking(AsyncSpace.evidence)
    history = _blocking(AsyncSpace.history)
    list = _blocking(AsyncSpace.list)
    pruned = _blocking(AsyncSpace.pruned)
    update = _blocking(AsyncSpace.update)
    pin = _blocking(AsyncSpace.pin)
    forget = _blocking(AsyncSpace.forget)
    restore = _blocking(AsyncSpace.restore)
    archive = _blocking(AsyncSpace.archive)
    bootstrap = _blocking(AsyncSpace.bootstrap)
    import_messages = _blocking(AsyncSpace.import_messages)
    import_items = _blocking(AsyncSpace.import_items)
    import_from = _blocking(AsyncSpace.import_from)
    checkpoint = _blocking(AsyncSpace.checkpoint)
    retriage = _blocking(AsyncSpace.retriage)
    upkeep = _blocking(AsyncSpace.upkeep)
    think = _blocking(AsyncSpace.think)
    consolidate = _blocking(AsyncSpace.consolidate)
    consult = _blocking(AsyncSpace.consult)
    identity = _blocking(AsyncSpace.identity)
    traits = _blocking(AsyncSpace.traits)
    cognition_runs = _blocking(AsyncSpace.cognition_runs)
    cognition_run = _blocking(AsyncSpace.cognition_run)
    undo_run = _blocking(AsyncSpace.undo_run)
    create_long_term_memory = _blocking(AsyncSpace.create_long_term_memory)
    update_long_term_memory = _blocking(AsyncSpace.update_long_term_memory)
    remember = _blocking(AsyncSpace.remember)
    facts = _blocking(AsyncSpace.facts)
    fact = _blocking(AsyncSpace.fact)
    fact_history = _blocking(AsyncSpace.fact_history)
    edit_fact = _blocking(AsyncSpace.edit_fact)
    pin_fact = _blocking(AsyncSpace.pin_fact)
    restore_fact = _blocking(AsyncSpace.restore_fact)
    forget_fact = _blocking(AsyncSpace.forget_fact)
    forget_all_facts = _blocking(AsyncSpace.forget_all_facts)
    persona = _blocking(AsyncSpace.persona)
    personas = _blocking(AsyncSpace.personas)
    person = _blocking(AsyncSpace.person)
    people = _blocking(AsyncSpace.people)
    set_person = _blocking(AsyncSpace.set_person)
    set_personalised = _blocking(AsyncSpace.set_personalised)
    set_server = _blocking(AsyncSpace.set_server)
    forget_person = _blocking(AsyncSpace.forget_person)
    forget_source = _blocking(AsyncSpace.forget_source)
    forget_everything = _blocking(AsyncSpace.forget_everything)
    preview_forget = _blocking(AsyncSpace.preview_forget)
    add_document = _blocking(AsyncSpace.add_document)
    replace_document = _blocking(AsyncSpace.replace_document)
    documents = _blocking(AsyncSpace.documents)
    document = _blocking(AsyncSpace.document)
    delete_document = _blocking(AsyncSpace.delete_document)
    search_documents = _blocking(AsyncSpace.search_documents)
    embed_documents = _blocking(AsyncSpace.embed_documents)
    stats = _blocking(AsyncSpace.stats)
    usage = _blocking(AsyncSpace.usage)
    failed = _blocking(AsyncSpace.failed)
    failed_context = _blocking(AsyncSpace.failed_context)
    replay_failed = _blocking(AsyncSpace.replay_failed)
    drop_failed = _blocking(AsyncSpace.drop_failed)


class Memory:
    """The blocking twin of `perdure.Memory`."""

    def __init__(self, open_inner: Callable[[], AsyncMemory]) -> None:
        self._closed = False
        self._loop = _Loop()
        try:
            self._inner = open_inner()
            self._loop.run(self._enter())
        except BaseException:
            self._loop.close()
            raise

    @classmethod
    def open(cls, **options: Any) -> Memory:
        """Opens everything; takes the arguments of `perdure.Memory.open`."""
        return cls(lambda: AsyncMemory.open(**options))

    def space(self, name: str, *, audience: str | None = None) -> Space:
        """A handle on a space; see `perdure.Memory.space`."""
        return Space(self._inner.space(name, audience=audience), self._loop)

    spaces = _blocking(AsyncMemory.spaces)
    worker_status = _blocking(AsyncMemory.worker_status)
    stop_worker = _blocking(AsyncMemory.stop_worker)
    export_space = _blocking(AsyncMemory.export_space)
    import_space = _blocking(AsyncMemory.import_space)
    create_key = _blocking(AsyncMemory.create_key)
    keys = _blocking(AsyncMemory.keys)
    rotate_key = _blocking(AsyncMemory.rotate_key)
    revoke_key = _blocking(AsyncMemory.revoke_key)
    audit = _blocking(AsyncMemory.audit)
    forget_space = _blocking(AsyncMemory.forget_space)

    def close(self) -> None:
        """Closes everything; safe to call twice. Calls that other threads are in end with a PerdureError.

        In a forked child it does nothing: what is open belongs to the parent.
        """
        if not self._closed and not self._loop.inherited:
            self._closed = True
            self._loop.close(self._inner.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _enter(self) -> None:
        await self._inner.__aenter__()
