"""`perdure recall` and `perdure search`: what comes to mind, and what is found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from perdure.cli.as_data import hit_data, left_out_data, optional_moment, pending_data
from perdure.cli.call import Call, argument_or_stdin, audience_option, common
from perdure.cli.called import as_called
from perdure.cli.drain import tell_waiting
from perdure.cli.failing import FAILED
from perdure.cli.filters import filters as filter_options
from perdure.cli.hits import show_hit
from perdure.cli.missed import tell_why_not
from perdure.cli.printing import Screen, local, tell
from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.types import Hit, LeftOut, Recall, SearchResult


_LEFT_OUT: Final = {
    "repeated": "#{0.beside} says the same",
    "alike": "it may say the same as #{0.beside}, and others wanted the place",
    "over_budget": "about {0.tokens} tokens were too many",
}


@click.command(short_help="Show what would be put into the prompt for a message.")
@click.argument("message")
@filter_options
@click.option(
    "--history",
    "history_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The conversation so far: a JSON list of {role, content}.",
)
@click.option("--limit", type=int, help="Memories at most, 1 to 20. [default: PERDURE_RECALL_LIMIT, 3]")
@click.option("--explain", is_flag=True, help="Show each term of the ranking formula.")
@click.option("--why-not", metavar="ID", help="Show where this memory fell out.")
@audience_option
@common
def recall(
    call: Call,
    *,
    message: str,
    filters: dict[str, Any],
    history_file: Path | None,
    limit: int | None,
    explain: bool,
    why_not: str | None,
    audience: str | None,
) -> int:
    """Show the memories that would be put into the prompt for MESSAGE; `-` reads it from stdin. Often that is none."""
    text = argument_or_stdin(message, "message")
    history = [] if history_file is None else read_history(history_file)
    if why_not is not None:
        return tell_why_not(call, why_not, text, audience, history=history, limit=limit, **filters)

    async def work(memory: Memory) -> tuple[Recall, Hit | None]:
        await tell_waiting(call, memory)
        space = call.space(memory, audience)
        found = await space.recall(text, history=history, limit=limit, **filters)
        if not explain or found.memories or found.degraded:
            return found, None
        return found, next(iter((await space.search(text, limit=1, plain=True, **filters)).hits), None)

    found, nearest = call.run(work, warm=True)
    document = _recalled(found, call.space_name)
    if explain:
        document["nearest"] = None if nearest is None else hit_data(nearest)

    call.answer(document, lambda screen: _show_recall(screen, found, nearest, call.space_name, explain=explain))
    return _status(found.degraded, found=bool(found.memories))


@click.command(short_help="Search by meaning and by words.")
@click.argument("query")
@filter_options
@click.option("--limit", type=int, help="Hits at most, 1 to 100. [default: PERDURE_SEARCH_LIMIT, 10]")
@click.option("--profile", metavar="NAME", help="Ranking profile: default, seed. [default: PERDURE_RANKING_PROFILE]")
@click.option("--exact", is_flag=True, help="Scan every memory instead of using indexes.")
@click.option("--plain", is_flag=True, help="Ask no language model.")
@click.option("--as-of", metavar="TIME", help="What was live at this time; a bare date is the end of that day.")
@click.option("--explain", is_flag=True, help="Show each term of the ranking formula.")
@click.option("--why-not", metavar="ID", help="Show where this memory fell out.")
@audience_option
@common
def search(
    call: Call,
    *,
    query: str,
    filters: dict[str, Any],
    limit: int | None,
    profile: str | None,
    exact: bool,
    plain: bool,
    as_of: str | None,
    explain: bool,
    why_not: str | None,
    audience: str | None,
) -> int:
    """Search memories by meaning and by words; `-` reads QUERY from stdin."""
    text = argument_or_stdin(query, "query")
    if why_not is not None:
        return tell_why_not(call, why_not, text, audience, limit=limit, searched=True, **filters)

    async def work(memory: Memory) -> SearchResult:
        await tell_waiting(call, memory)
        space = call.space(memory, audience)
        return await space.search(text, limit=limit, profile=profile, exact=exact, plain=plain, as_of=as_of, **filters)

    found = call.run(work, warm=True)
    document: dict[str, object] = {
        "space": call.space_name,
        "query": found.query,
        "hits": [hit_data(hit) for hit in found.hits],
        "degraded": list(found.degraded),
        "path": found.path,
        "queries": list(found.queries),
        "reranked": found.reranked,
        "as_of": optional_moment(found.as_of),
        "timings_ms": dict(found.timings_ms),
    }

    def show(screen: Screen) -> None:
        for other in found.queries[1:]:
            screen.line((f"also asked: {other}", "dim"))
        for hit in found.hits:
            show_hit(screen, hit, hit.query or text, explain=explain)
        if not found.hits:
            screen.line(f"Nothing found in space {call.space_name}.")
        screen.line((_summary(len(found.hits), "found", found.timings_ms), "dim"))

    call.answer(document, show)
    return _status(found.degraded, found=bool(found.hits))


def _recalled(found: Recall, space: str) -> dict[str, object]:
    return {
        "space": space,
        "query": found.query,
        "memories": [hit_data(hit) for hit in found.memories],
        "pending": [pending_data(item) for item in found.pending],
        "left_out": [left_out_data(one) for one in found.left_out],
        "tokens": found.tokens,
        "degraded": list(found.degraded),
        "prefix": found.prefix,
        "tail": found.tail,
        "timings_ms": dict(found.timings_ms),
    }


def _show_recall(screen: Screen, found: Recall, nearest: Hit | None, space: str, *, explain: bool) -> None:
    for hit in found.memories:
        show_hit(screen, hit, found.query, explain=explain)
    if not found.memories and not found.degraded:
        screen.line(f"Nothing in space {space} is worth adding to the prompt for this message.")
    if nearest is not None:
        _show_nearest(screen, nearest, found.query)
    for item in found.pending:
        screen.line((f"queued  {local(item.occurred_at)}", "yellow"), f"  {item.speaker or ''}")
        screen.line(item.text, indent=3)
    if explain:
        _show_left_out(screen, found.left_out)
    screen.line((_summary(len(found.memories), "recalled", found.timings_ms), "dim"))


def _show_left_out(screen: Screen, left_out: Sequence[LeftOut]) -> None:
    for one in left_out:
        screen.line((f"#{one.id} was left out: {_LEFT_OUT[one.why].format(one)}", "dim"))


def _show_nearest(screen: Screen, hit: Hit, query: str) -> None:
    screen.line("The nearest memory stayed below the relevance gate:")
    show_hit(screen, hit, query, explain=True)
    screen.line(
        as_called("`perdure search` shows what is near; PERDURE_RELEVANCE_GATE=false lets the best three through.")
    )


def read_history(path: Path) -> Sequence[Mapping[str, object]]:
    """Chat messages from a JSON file. Raises InvalidInput for anything but a list of objects."""
    try:
        read = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidInput("history", str(path), f"the file must be readable ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput("history", str(path), f"it must be JSON in UTF-8 ({error})") from error
    if not isinstance(read, list) or not all(isinstance(message, dict) for message in read):
        raise InvalidInput("history", str(path), 'it must be a list such as [{"role": "user", "content": "Hello"}]')
    return read


def _summary(count: int, verb: str, timings_ms: Mapping[str, float]) -> str:
    memories = "1 memory" if count == 1 else f"{count} memories"
    if "total" not in timings_ms:
        return f"{memories} {verb}"
    parts = ", ".join(f"{name} {ms:.0f} ms" for name, ms in timings_ms.items() if name != "total")
    return f"{memories} {verb} in {timings_ms['total']:.0f} ms{f' ({parts})' if parts else ''}"


def _status(degraded: Sequence[str], *, found: bool) -> int:
    """What failed is told on stderr; it is a failure of the command only where nothing was found without it."""
    for part in degraded:
        tell(f"perdure: degraded: {part}")
    return FAILED if degraded and not found else 0
