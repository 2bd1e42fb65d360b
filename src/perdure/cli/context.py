"""`perdure context`: the whole prompt of a turn, block by block, and what prompts have cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from perdure.cli.as_data import hit_data, left_out_data, pending_data
from perdure.cli.call import Call, argument_or_stdin, audience_option, common, warm_model
from perdure.cli.drain import tell_waiting
from perdure.cli.failing import FAILED
from perdure.cli.filters import filters as filter_options
from perdure.cli.printing import Screen, tell
from perdure.cli.retrieve import read_history
from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from perdure.context import Context
    from perdure.fact_types import TurnState
    from perdure.memory import Memory
    from perdure.store.savings import Savings

SAVINGS: Final = "savings"
DIGEST_SHOWN: Final = 8


@click.command(short_help="Show the whole prompt of a turn, or what prompts have cost.")
@click.argument("message")
@filter_options
@click.option(
    "--history",
    "history_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The conversation so far: a JSON list of {role, content}.",
)
@click.option(
    "--state",
    "state_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Who takes part where: JSON with server_id, channel_id, persona, speaker, participants.",
)
@click.option(
    "--layout", default="native", metavar="NAME|FILE", help="native, preset, or a JSON file. [default: native]"
)
@click.option("--token-budget", type=int, help="Tokens that all blocks may cost. [default: no limit]")
@click.option("--instructions", default="", metavar="TEXT", help="Yours, for the beginning of the prefix.")
@click.option("--limit", type=int, help="Memories at most, 1 to 20. [default: PERDURE_RECALL_LIMIT, 3]")
@click.option("--inspect", is_flag=True, help="Leave no trace: nothing that is learnt beside it is kept.")
@click.option("--days", type=int, default=30, help="With savings: how many days back, 1 to 30. [default: 30]")
@audience_option
@common
def context(
    call: Call,
    *,
    message: str,
    filters: dict[str, Any],
    history_file: Path | None,
    state_file: Path | None,
    layout: str,
    token_budget: int | None,
    instructions: str,
    limit: int | None,
    inspect: bool,
    days: int,
    audience: str | None,
) -> int:
    """Show the prompt that a turn with MESSAGE would get, block by block with its tokens; `-` reads it from stdin.

    With the word savings for MESSAGE it says instead what prompts have cost, and what dormant facts and stable prefixes
    have spared them.
    """
    if message == SAVINGS:
        return _savings(call, days)
    asked = {
        "history": [] if history_file is None else read_history(history_file),
        "state": None if state_file is None else read_state(state_file),
        "layout": _layout(layout),
        "token_budget": token_budget,
        "instructions": instructions,
        "limit": limit,
        **filters,
    }
    text = argument_or_stdin(message, "message")

    async def work(memory: Memory) -> Context:
        if inspect:
            await warm_model(memory)
        await tell_waiting(call, memory)
        return await call.space(memory, audience).context(text, real=not inspect, **asked)

    found = call.run(work, warm=not inspect)
    call.answer(context_data(found, call.space_name), lambda screen: _show(screen, found))
    for part in found.degraded:
        tell(f"perdure: degraded: {part}")
    return FAILED if "space" in {part.partition(":")[0] for part in found.degraded} else 0


def read_state(path: Path) -> TurnState:
    """The state of a turn from a JSON file; `speaker` is the user_id of a participant. Raises InvalidInput."""
    from perdure.fact_types import Participant, Persona, TurnState  # noqa: PLC0415 - with the library

    data = _object(path, "state")
    try:
        people = {one["user_id"]: Participant(**one) for one in data.pop("participants", [])}
        speaker = data.pop("speaker", None)
        if speaker is not None and speaker not in people:
            raise InvalidInput("state", str(path), f"its speaker {speaker!r} has to be the user_id of a participant")
        persona = data.pop("persona", None)
        return TurnState(
            **data,
            persona=None if persona is None else Persona(**persona),
            speaker=None if speaker is None else people[speaker],
            participants=tuple(people.values()),
        )
    except (TypeError, KeyError, AttributeError) as error:
        limit = f"it must name server_id, channel_id, persona, speaker and participants as docs/cli.md shows ({error})"
        raise InvalidInput("state", str(path), limit) from None


def context_data(found: Context, space: str) -> dict[str, object]:
    """A prompt as `--json` prints it."""
    report = found.report
    return {
        "space": space,
        "query": found.query,
        "layout": found.layout.name,
        "blocks": [
            {
                "name": block.name,
                "slot": block.slot,
                "role": block.role,
                "tokens": block.tokens,
                "digest": block.digest,
                "cacheable": block.cacheable,
                "text": block.text,
            }
            for block in found.blocks
        ],
        "messages": found.messages(),
        "slots": found.slots,
        "memories": [hit_data(hit) for hit in found.recall.memories],
        "pending": [pending_data(item) for item in found.recall.pending],
        "left_out": [left_out_data(one) for one in found.recall.left_out],
        "report": {
            "budget": report.budget,
            "tokens": report.tokens,
            "prefix_tokens": report.prefix_tokens,
            "tail_tokens": report.tail_tokens,
            "over_by": report.over_by,
            "sacrificed": [{"block": one.block, "id": one.id, "tokens": one.tokens} for one in report.sacrificed],
        },
        "memory_intent": found.memory_intent,
        "tools": [dict(tool) for tool in found.tools],
        "degraded": list(found.degraded),
        "timings_ms": dict(found.timings_ms),
    }


def _show(screen: Screen, found: Context) -> None:
    for block in found.blocks:
        kind = "cacheable" if block.cacheable else "changes"
        told = f"  {block.slot}  {block.role}  {block.tokens} tokens  {kind}  {block.digest[:DIGEST_SHOWN]}"
        screen.line((block.name, "bold"), (told, "dim"))
        for line in block.text.splitlines():
            screen.line(line, indent=3)
    report = found.report
    for one in report.sacrificed:
        screen.line((f"given up for the budget: {one.id} of {one.block}, about {one.tokens} tokens", "yellow"))
    if report.over_by:
        screen.line((f"{report.over_by} tokens over the budget: what is left always stays", "red"))
    if found.memory_intent:
        screen.line("The message asks for something to be remembered.")
    screen.line(
        (f"{report.tokens} tokens: {report.prefix_tokens} that can be cached, {report.tail_tokens} that change", "dim")
    )


def _savings(call: Call, days: int) -> int:
    async def work(memory: Memory) -> Savings:
        return await call.space(memory).savings(days=days)

    found = call.run(work)
    ratio = found.thrash_ratio
    rows = (
        ("prompts", f"{found.prompts:,}"),
        ("tokens of prefixes", f"{found.prefix_tokens:,}"),
        ("of these reused", f"{found.reused_tokens:,}"),
        ("tokens of tails", f"{found.tail_tokens:,}"),
        ("dormant facts withheld, tokens", f"{found.dormant_tokens:,}"),
        ("facts recalled, tokens", f"{found.recalled_tokens:,}"),
        ("saved by that", f"{found.saved_tokens:,}"),
        ("embedded for it", f"{found.embedding_tokens:,}"),
        ("facts recalled", f"{found.recalled:,}"),
        ("of these hardly dormant", f"{found.quick_returns:,}"),
        ("thrash ratio", "none recalled" if ratio is None else f"{ratio:.2f}"),
    )
    document: dict[str, object] = {
        "space": call.space_name,
        "days": days,
        "prompts": found.prompts,
        "turns": found.turns,
        "prefix_tokens": found.prefix_tokens,
        "reused_tokens": found.reused_tokens,
        "tail_tokens": found.tail_tokens,
        "dormant_tokens": found.dormant_tokens,
        "recalled_tokens": found.recalled_tokens,
        "saved_tokens": found.saved_tokens,
        "query_tokens": found.query_tokens,
        "fill_tokens": found.fill_tokens,
        "embedding_tokens": found.embedding_tokens,
        "recalled": found.recalled,
        "quick_returns": found.quick_returns,
        "thrash_ratio": ratio,
    }
    call.answer(document, lambda screen: screen.table((f"last {days} days", ""), rows, right=(1,)))
    return 0


def _layout(given: str) -> object:
    path = Path(given)
    return _object(path, "layout") if path.suffix == ".json" else given


def _object(path: Path, field: str) -> dict[str, Any]:
    try:
        read = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidInput(field, str(path), f"the file must be readable ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(field, str(path), f"it must be JSON in UTF-8 ({error})") from error
    if not isinstance(read, Mapping):
        raise InvalidInput(field, str(path), "it must be a JSON object")
    return dict(read)
