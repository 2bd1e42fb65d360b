"""One call of a command: the options that all commands share, and how a command opens what it works with."""

from __future__ import annotations

import asyncio
import functools
import getpass
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

import click
from click.core import ParameterSource

from perdure.acting import Actor, Door, acting
from perdure.cli.failing import debugging
from perdure.cli.printing import Screen, print_json, tell
from perdure.errors import InvalidInput, PerdureError, without_words

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.settings import Settings
    from perdure.space import Space

P = ParamSpec("P")
T = TypeVar("T")
MAX_STDIN_BYTES: Final = 16 * 1024 * 1024
"""More than this isn't even read; the limit of a text is far below it."""

WARM_UP_S: Final = 30.0
"""For embedding what the relevance gate compares with: 2 s of a processor with the bundled model."""

COMMON_OPTIONS: Final = ("--space", "--json", "--data-dir")


@dataclass(frozen=True, slots=True)
class Call:
    """The shared options of one call. `space_given`: the space was named on the command line, not by default."""

    space_name: str
    space_given: bool
    as_json: bool
    data_dir: Path | None

    def run(self, work: Callable[[Memory], Awaitable[T]], *, warm: bool = False, worker: bool = False) -> T:
        """Opens the memory, does the work, closes.

        With `warm` a local model is loaded first, so that loading it doesn't use up the deadline of a recall. Only
        `perdure worker` runs a worker: any other command is over in a moment, and what is queued waits for one.
        """
        from perdure.memory import Memory  # noqa: PLC0415 - the driver and the model's libraries

        async def opened() -> T:
            opening = Memory.open(data_dir=self.data_dir, worker=worker, progress=tell)
            await self._check_own_server(opening.settings)
            with acting(Actor(_login(), Door.CLI)):
                return await used(opening)

        async def used(opening: Memory) -> T:
            async with opening as memory:
                if warm:
                    await warm_up(memory)
                return await work(memory)

        return run_async(opened())

    @staticmethod
    async def _check_own_server(settings: Settings) -> None:
        """A person who mistyped a password should not wait for a pool that keeps trying."""
        from perdure.store.external import check_reachable  # noqa: PLC0415 - the driver

        for url in (settings.database_url, settings.database_worker_url):
            if settings.database_url is not None and url is not None:
                await asyncio.to_thread(check_reachable, url.get_secret_value())

    def space(self, memory: Memory, audience: str | None = None) -> Space:
        return memory.space(self.space_name, audience=audience)

    def answer(self, document: dict[str, object], show: Callable[[Screen], None]) -> None:
        """The result: one document with `--json`, or lines for people."""
        if self.as_json:
            print_json(document)
        else:
            show(Screen())


async def warm_up(memory: Memory) -> None:
    """Loads a model of this process, and what the relevance gate compares with, as one command has only one turn.

    What fails here is reported by the call that needs it.
    """
    resources = memory.resources
    await warm_model(memory)
    if memory.settings.relevance_gate:
        # Longer than a recall may take: it is done once for a database, and never if each command gave up too soon.
        with suppress(TimeoutError):
            async with asyncio.timeout(WARM_UP_S):
                await resources.noise.load()


async def warm_model(memory: Memory) -> None:
    """Loads a model of this process, so that loading it doesn't use up a deadline."""
    if memory.settings.embedder != "openai":
        with suppress(PerdureError):
            await memory.resources.embedder.embed(["warm"], "query")


def _login() -> str:
    """Who is logged in, for the audit log; a container may have nobody."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine in a loop that the database driver can use on every platform."""
    try:
        quiet_logs()
    except BaseException:
        work.close()  # never awaited, and that is no mistake
        raise
    factory = asyncio.SelectorEventLoop if sys.platform == "win32" else None
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)


def quiet_logs() -> None:
    """Log lines go to stderr without tracebacks, which PERDURE_DEBUG=1 brings back."""
    import logging  # noqa: PLC0415

    from perdure.settings import load_settings  # noqa: PLC0415

    class OneLine(logging.Formatter):
        def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
            return super().formatException(ei) if debugging() else without_words(ei[1])

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=load_settings().log_level.upper())
    # The pool warns at every failed try; what comes of them is reported once, as an error.
    logging.getLogger("psycopg").setLevel(logging.WARNING if debugging() else logging.CRITICAL)


def common(function: Callable[Concatenate[Call, P], int | None]) -> Callable[..., int | None]:
    """Adds the options that every command has; the command gets them as a `Call` in front of its own."""

    @click.option(
        "--space",
        "space_name",
        envvar="PERDURE_SPACE",
        default="default",
        metavar="NAME",
        help="Whose memories. [default: PERDURE_SPACE, or 'default']",
    )
    @click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, errors included.")
    @click.option(
        "--data-dir",
        type=click.Path(path_type=Path),
        metavar="DIRECTORY",
        help="Where the embedded database is. [default: PERDURE_DATA_DIR, or the platform's place]",
    )
    @functools.wraps(function)
    def command(*args: Any, space_name: str, as_json: bool, data_dir: Path | None, **options: Any) -> int | None:
        source = click.get_current_context().get_parameter_source("space_name")
        call = Call(space_name, source is ParameterSource.COMMANDLINE, as_json, data_dir)
        return function(call, *args, **options)

    return command


audience_option = click.option(
    "--audience", metavar="NAME", help="A group or conversation: sees its own memories and those of the whole space."
)


def argument_or_stdin(value: str, field: str) -> str:
    """The argument, or what stdin holds when it is `-`; one line end at its end is dropped."""
    if value != "-":
        return value
    data = sys.stdin.buffer.read(MAX_STDIN_BYTES + 1)
    if len(data) > MAX_STDIN_BYTES:
        raise InvalidInput(field, "stdin", f"it has more than {MAX_STDIN_BYTES // 1024**2} MiB; import a file instead")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        limit = f"byte {error.start + 1} of stdin is not UTF-8; convert it, for Latin-1 with `iconv -f LATIN1 -t UTF-8`"
        raise InvalidInput(field, data[error.start : error.start + 8], limit) from error
    return text.removesuffix("\n").removesuffix("\r")
