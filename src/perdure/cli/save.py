"""`perdure save`: one text becomes memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from perdure.cli.call import Call, argument_or_stdin, audience_option, common

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.types import Outcome


TYPES: Final = "general, fact, preference, event, email, calendar, episode, reflection, identity, transition"


class Number(click.ParamType):  # type: ignore[type-arg]  # generic in some versions of click only
    """A number, refused in words."""

    name = "number"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return float(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a number.", param, ctx)


@click.command(short_help="Remember a text.")
@click.argument("text")
@click.option(
    "--salience",
    type=Number(),
    default=5,
    show_default=True,
    help="How much it matters, 1 to 10; 11 to 100 is read as a percentage.",
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; may be repeated.")
@click.option("--type", "memory_type", default="general", show_default=True, help=f"One of {TYPES}.")
@click.option("--speaker", metavar="NAME", help="Who said it.")
@click.option("--date", "source_date", metavar="TIME", help="When it was so, ISO 8601. [default: now]")
@click.option("--pin", "pinned", is_flag=True, help="Never let it decay.")
@click.option("--operation-id", metavar="ID", help="Makes the call safe to repeat.")
@audience_option
@common
def save(
    call: Call,
    *,
    text: str,
    salience: float,
    tags: tuple[str, ...],
    memory_type: str,
    speaker: str | None,
    source_date: str | None,
    pinned: bool,
    operation_id: str | None,
    audience: str | None,
) -> None:
    """Remember TEXT as it stands; `-` reads it from stdin. A long text becomes several memories."""
    words = argument_or_stdin(text, "text")

    async def work(memory: Memory) -> Outcome:
        return await call.space(memory, audience).save(
            words,
            salience=salience,
            memory_type=memory_type,
            tags=tags,
            speaker=speaker,
            source_date=source_date,
            pinned=pinned,
            operation_id=operation_id,
        )

    outcome = call.run(work)
    ids = [outcome.id] if outcome.status == "merged" else list(getattr(outcome, "ids", ()))
    document: dict[str, object] = {
        "space": call.space_name,
        "status": outcome.status,
        "ids": [str(number) for number in ids],
    }
    shown = ", ".join(f"#{number}" for number in ids)
    if outcome.status == "merged":
        told = f"Was there already, as {shown} in space {call.space_name}; nothing was stored twice."
    else:
        told = f"Saved as {shown} in space {call.space_name}."
    call.answer(document, lambda screen: screen.line(told))
