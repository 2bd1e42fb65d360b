"""Which commands there are, and where each one is found when it is called.

The help texts stand here so that `perdure --help` loads none of the modules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Entry:
    """`where` is `module:attribute` of a click command; `help` is its line in `perdure --help`."""

    where: str
    help: str


COMMANDS: Final[dict[str, dict[str, Entry]]] = {
    "First steps": {
        "demo": Entry("perdure.cli.demo:demo", "Import a sample conversation and ask it ten questions."),
        "init": Entry("perdure.cli.init:init", "Prepare the database: embedded, or a server of your own."),
        "doctor": Entry("perdure.cli.doctor:doctor", "Check everything and say what to do about what is wrong."),
    },
    "Memories": {
        "save": Entry("perdure.cli.save:save", "Remember a text."),
        "bootstrap": Entry("perdure.cli.bootstrap:bootstrap", "Begin with a text about the user."),
        "import": Entry("perdure.cli.importing:import_file", "Import a file of conversations, mails or events."),
        "mail": Entry("perdure.cli.sources:mail", "Read a mailbox over IMAP."),
        "calendar": Entry("perdure.cli.sources:calendar", "Read a calendar: CalDAV, or a published .ics address."),
        "recall": Entry("perdure.cli.retrieve:recall", "Show what would be put into the prompt for a message."),
        "context": Entry("perdure.cli.context:context", "Show the whole prompt of a turn, or what prompts cost."),
        "search": Entry("perdure.cli.retrieve:search", "Search by meaning and by words."),
        "list": Entry("perdure.cli.browse:list_memories", "List memories, newest first."),
        "show": Entry("perdure.cli.browse:show", "Show one memory with its evidence and history."),
        "documents": Entry("perdure.cli.documents:documents", "Hand in files, look them up, and delete them."),
        "facts": Entry("perdure.cli.facts:facts", "Keep, show and change facts about the user, servers and people."),
        "drain": Entry("perdure.cli.drain:drain", "Turn captured exchanges into memories now."),
        "restore": Entry("perdure.cli.restore:restore", "Bring a replaced memory back."),
        "export": Entry("perdure.cli.exporting:export", "Write all that a space holds to a file."),
        "forget": Entry("perdure.cli.forget:forget", "Erase memories for good."),
        "stats": Entry("perdure.cli.stats:stats", "Count what spaces hold and what waits."),
        "failed": Entry("perdure.cli.failed:failed", "Show, replay or drop what failed for good."),
    },
    "Running": {
        "worker": Entry(
            "perdure.cli.worker:worker", "Work for all spaces until it is stopped; or say what workers do."
        ),
        "cognition": Entry("perdure.cli.cognition:cognition", "Show, draw or take back conclusions."),
        "upkeep": Entry("perdure.cli.upkeep:upkeep", "Let memories fade, and prune what has had its time."),
        "backup": Entry("perdure.cli.backup:backup", "Back the embedded database up, or make a new one of a backup."),
        "retriage": Entry("perdure.cli.retriage:retriage", "Judge what was stored without a language model."),
    },
    "Serving": {
        "serve": Entry("perdure.cli.serve:serve", "Serve REST, MCP and the proxy over HTTP."),
        "mcp": Entry("perdure.cli.mcp:mcp", "Serve one space to an MCP client over stdin and stdout."),
        "keys": Entry("perdure.cli.keys:keys", "Make, list, rotate and revoke keys for the server."),
        "audit": Entry("perdure.cli.audit:audit", "Show who changed what, when, and through which door."),
    },
    "Measuring": {
        "simulate": Entry("perdure.cli.simulate:simulate", "Live through a scripted life, and check what must hold."),
        "eval": Entry("perdure.cli.evaluation:evaluate", "Measure retrieval on a set of questions."),
    },
}
"""By heading, in the order in which help shows them."""


def entries() -> dict[str, Entry]:
    """All commands by name."""
    return {name: entry for group in COMMANDS.values() for name, entry in group.items()}
