"""A client of the server with the verbs of the library: code moves from one to the other by one line.

async with AsyncClient("http://127.0.0.1:8377", key="pdr_...") as memory:    # in place of Memory.open()
    ada = memory.space("ada")
    recall = await ada.recall("What shall I cook tonight?")
    await ada.capture(user="What shall I cook tonight?", assistant=reply, recall=recall)
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from perdure import door
from perdure.client.asking import PAUSE_S, TRIES, Asked, ServerUnavailable, ask, instead, next_page, read_answer
from perdure.client.sending import PAGED, away, following, may_again, options, page_of, request_of, wanted
from perdure.clock import wall_clock
from perdure.ingest import ItemReport
from perdure.space import Space
from perdure.types import ItemSource
from perdure.wire import bound

if TYPE_CHECKING:
    from perdure.wire import IdentityCard

P = ParamSpec("P")
T = TypeVar("T")


def _asked(
    method: Callable[Concatenate[Space, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[AsyncRemoteSpace, P], Coroutine[Any, Any, T]]:
    """The method of the library, asked of the server; name, arguments and docstring stay the same."""

    @functools.wraps(method)
    async def call(self: AsyncRemoteSpace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        values = bound(method, method.__name__, args, kwargs)
        answer: T = await self._client.answer(method.__name__, self.name, self.audience, values)
        return answer

    return call


class AsyncRemoteSpace:
    """A handle on a space of a server: the methods of `perdure.Space`."""

    def __init__(self, client: AsyncClient, name: str, audience: str | None = None) -> None:
        self._client = client
        self.name = door.require_key(name, "space")
        self.audience = door.optional_key(audience, "audience")

    recall = _asked(Space.recall)
    context = _asked(Space.context)
    inspect_context = _asked(Space.inspect_context)
    savings = _asked(Space.savings)
    capture = _asked(Space.capture)
    feedback = _asked(Space.feedback)
    set_task = _asked(Space.set_task)
    task_recall = _asked(Space.task_recall)
    drain = _asked(Space.drain)
    save = _asked(Space.save)
    search = _asked(Space.search)
    why_not = _asked(Space.why_not)
    get = _asked(Space.get)
    evidence = _asked(Space.evidence)
    history = _asked(Space.history)
    list = _asked(Space.list)
    pruned = _asked(Space.pruned)
    update = _asked(Space.update)
    pin = _asked(Space.pin)
    forget = _asked(Space.forget)
    restore = _asked(Space.restore)
    archive = _asked(Space.archive)
    bootstrap = _asked(Space.bootstrap)
    import_messages = _asked(Space.import_messages)
    import_items = _asked(Space.import_items)
    checkpoint = _asked(Space.checkpoint)
    retriage = _asked(Space.retriage)
    upkeep = _asked(Space.upkeep)
    think = _asked(Space.think)
    consolidate = _asked(Space.consolidate)
    consult = _asked(Space.consult)
    traits = _asked(Space.traits)
    cognition_runs = _asked(Space.cognition_runs)
    cognition_run = _asked(Space.cognition_run)
    undo_run = _asked(Space.undo_run)
    create_long_term_memory = _asked(Space.create_long_term_memory)
    update_long_term_memory = _asked(Space.update_long_term_memory)
    remember = _asked(Space.remember)
    facts = _asked(Space.facts)
    fact = _asked(Space.fact)
    fact_history = _asked(Space.fact_history)
    edit_fact = _asked(Space.edit_fact)
    pin_fact = _asked(Space.pin_fact)
    restore_fact = _asked(Space.restore_fact)
    forget_fact = _asked(Space.forget_fact)
    forget_all_facts = _asked(Space.forget_all_facts)
    persona = _asked(Space.persona)
    personas = _asked(Space.personas)
    person = _asked(Space.person)
    people = _asked(Space.people)
    set_person = _asked(Space.set_person)
    set_personalised = _asked(Space.set_personalised)
    set_server = _asked(Space.set_server)
    forget_person = _asked(Space.forget_person)
    forget_source = _asked(Space.forget_source)
    forget_everything = _asked(Space.forget_everything)
    preview_forget = _asked(Space.preview_forget)
    add_document = _asked(Space.add_document)
    replace_document = _asked(Space.replace_document)
    documents = _asked(Space.documents)
    document = _asked(Space.document)
    delete_document = _asked(Space.delete_document)
    search_documents = _asked(Space.search_documents)
    embed_documents = _asked(Space.embed_documents)
    stats = _asked(Space.stats)
    usage = _asked(Space.usage)
    failed = _asked(Space.failed)
    failed_context = _asked(Space.failed_context)
    replay_failed = _asked(Space.replay_failed)
    drop_failed = _asked(Space.drop_failed)

    async def identity(self) -> IdentityCard:
        """The identity card; see `perdure.Space.identity`."""
        card: IdentityCard = await self._client.answer("identity", self.name, self.audience, {})
        return card

    async def import_from(
        self, source: ItemSource, *, progress: Callable[[ItemReport], None] | None = None
    ) -> ItemReport:
        """Reads a mailbox or calendar here, and hands in what is new; see `perdure.Space.import_from`."""
        place = await self.checkpoint(source.name)
        total = ItemReport()
        batches = source.batches(place, now=wall_clock())
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            report = await self.import_items(batch.items, source=source.name, checkpoint=batch.checkpoint)
            total += replace(report, refused=(*report.refused, *batch.refused))
            if progress is not None:
                progress(total)
        return total


class AsyncClient:
    """A server's memory, in place of one opened here. Use it as `async with AsyncClient(url, key=...) as memory:`."""

    def __init__(self, url: str, *, key: str | None = None) -> None:
        """Connects at the first call.

        Args:
            url: of the server, such as http://127.0.0.1:8377. key: as `perdure keys create` printed it.

        Raises:
            ConfigurationError: the address or key can't be used.
        """
        self._http = httpx.AsyncClient(**options(url, key))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    def space(self, name: str, *, audience: str | None = None) -> AsyncRemoteSpace:
        """A handle on a space; see `perdure.Memory.space`."""
        return AsyncRemoteSpace(self, name, audience)

    async def answer(self, verb: str, space: str, audience: str | None, values: dict[str, Any]) -> Any:
        """What a verb returns for these arguments. Raises what it raises, and ServerUnavailable."""
        asked = ask(verb, space, audience, values)
        if verb in PAGED:
            return await self._pages(asked, values)
        try:
            return read_answer(asked, await self._send(asked))
        except ServerUnavailable:
            nothing = instead(asked, values)
            if nothing is None:
                raise
            return nothing

    async def _pages(self, asked: Asked, values: dict[str, Any]) -> Any:
        left = wanted(asked, values)
        found: tuple[Any, ...] = ()
        while True:
            answer = await self._send(page_of(asked, left - len(found)))
            found += tuple(read_answer(asked, answer))
            cursor = next_page(answer)
            if cursor is None or len(found) >= left:
                return found[:left]
            asked = following(asked, cursor)

    async def _send(self, asked: Asked) -> httpx.Response:
        for tries in range(1, TRIES + 1):
            try:
                answer = await self._http.send(request_of(self._http, asked))
            except httpx.TransportError as error:
                if tries == TRIES or not may_again(asked, error):
                    raise away(error) from error
            else:
                if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE or tries == TRIES or not asked.again:
                    return answer
            await asyncio.sleep(PAUSE_S * 2**tries)
        raise AssertionError("unreachable")
