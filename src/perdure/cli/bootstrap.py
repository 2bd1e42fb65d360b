"""`perdure bootstrap`: memories to begin with, from a text about the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli.call import Call, argument_or_stdin, audience_option, common
from perdure.cli.called import as_called
from perdure.cli.printing import tell

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.types import Outcome


@click.command(short_help="Begin with a text about the user.")
@click.argument("text")
@click.option("--speaker", metavar="NAME", help="Whom it is about, in a space with many people.")
@click.option("--operation-id", metavar="ID", help="Makes the call safe to repeat.")
@audience_option
@common
def bootstrap(call: Call, *, text: str, speaker: str | None, operation_id: str | None, audience: str | None) -> None:
    """Make memories of TEXT, a profile or notes about the user; `-` reads it from stdin.

    The large model picks out what to keep; without one the text is kept as it stands.
    """
    words = argument_or_stdin(text, "text")

    async def work(memory: Memory) -> Outcome:
        return await call.space(memory, audience).bootstrap(words, speaker=speaker, operation_id=operation_id)

    outcome = call.run(work)
    call.answer(
        {"space": call.space_name, "status": outcome.status},
        lambda screen: screen.line(f"Taken in; it waits in the queue of space {call.space_name}."),
    )
    tell(as_called("A worker makes memories of it (`perdure worker`), or `perdure drain` does so now."))
