"""`perdure demo`: a made-up conversation is imported and asked ten questions."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from perdure.cli.as_data import hit_data
from perdure.cli.call import Call, common, warm_up
from perdure.cli.called import program
from perdure.cli.failing import Interrupted
from perdure.cli.hits import head, why
from perdure.cli.importing import Imported, Plan, import_messages
from perdure.cli.printing import moment, tell
from perdure.cli.progress import byte_progress
from perdure.clock import DatabaseClock

if TYPE_CHECKING:
    from perdure.cli.printing import Screen
    from perdure.demo import DemoQuestion
    from perdure.memory import Memory
    from perdure.space import Space
    from perdure.types import Hit, Recall

SPACE: Final = "demo"
SOURCE: Final = "demo"

NEXT: Final = (
    ('recall "When is the half marathon?" --space {space}', "your own question"),
    ("search Lisbon --space {space} --since 2026-09-01 --explain", "every term of the ranking formula"),
    ('save "Ada is allergic to peanuts" --tag health', "a memory of your own, in the space `default`"),
    ("import conversations.json", "your chats: ChatGPT, Telegram, WhatsApp or JSON Lines"),
    ("doctor", "what runs where, and what is missing"),
    ("forget --source import:demo --space {space}", "removes this sample"),
)
"""What to try next, without the name of the program in front."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one question recalled. `expected` are the hits that rest on the messages which answer it."""

    question: DemoQuestion
    recall: Recall
    expected: tuple[int, ...]

    @property
    def as_meant(self) -> bool:
        """The message that answers it was recalled; for small talk: nothing was."""
        return bool(self.expected) if self.question.evidence else not self.recall.memories


@click.command(short_help="Import a sample conversation and ask it ten questions.")
@common
def demo(call: Call) -> None:
    """Import a made-up conversation of three months into the space `demo` and ask it ten questions.

    It needs no key and no network. The second time takes seconds and imports nothing twice. With --space it goes into
    that space instead.
    """
    from perdure.connect import read_messages  # noqa: PLC0415 - loads the readers
    from perdure.demo import questions, sample_path  # noqa: PLC0415

    space_name = call.space_name if call.space_given else SPACE
    reader = read_messages(sample_path(), "jsonl")
    plan = Plan(source=SOURCE, space=space_name, all_into=True, assume_time=None, audience=None)
    imported = Imported()
    answers: list[Answer] = []
    clock = DatabaseClock()
    began = clock.monotonic()

    async def work(memory: Memory) -> dict[str, object]:
        server = memory.server
        where = f"PostgreSQL {server.version} in {server.data_dir}" if server else "your PostgreSQL"
        tell(f"{where} is ready after {clock.monotonic() - began:.1f} s. Loading the embedding model ...")
        await warm_up(memory)
        tell("Importing the sample conversation ...")
        since = clock.monotonic()
        with byte_progress("sample", reader.progress.total_bytes) as progress:
            await import_messages(memory, reader, plan, imported, progress)
        took = clock.monotonic() - since
        space = memory.space(space_name)
        answers.extend([await _ask(space, question) for question in questions()])
        return {
            "space": space_name,
            "memories": (await space.stats()).memories,
            "data_dir": str(server.data_dir) if server else None,
            "embedder": memory.resources.family.name,
            "import_seconds": round(took, 2),
        }

    try:
        facts = call.run(work)
    except KeyboardInterrupt:
        raise Interrupted from None
    seconds = round(clock.monotonic() - began, 2)
    document: dict[str, object] = {
        **facts,
        "imported": {"stored": imported.stored, "merged": imported.merged, "known": imported.known},
        "questions": [_answer_data(answer) for answer in answers],
        "as_meant": sum(answer.as_meant for answer in answers),
        "seconds": seconds,
    }

    def show(screen: Screen) -> None:
        _show_import(screen, imported, facts)
        for number, answer in enumerate(answers, 1):
            _show_answer(screen, number, answer)
        screen.line("")
        screen.line(verdict(answers))
        screen.line(f"All in all {seconds:.1f} s. Now try:")
        for command, what in NEXT:
            spelled = command.format(space=shlex.quote(space_name))
            screen.line((f"  {program()} {spelled}", "bold"), (f"   # {what}", "dim"))

    call.answer(document, show)


def verdict(answers: Sequence[Answer]) -> str:
    """How many questions recalled what they should, and which did not."""
    missed = [f"{number} ({_miss(answer)})" for number, answer in enumerate(answers, 1) if not answer.as_meant]
    told = f"{len(answers) - len(missed)} of {len(answers)} questions came out as meant"
    return f"{told}; not so: {', '.join(missed)}." if missed else f"{told}."


def _miss(answer: Answer) -> str:
    if not answer.question.evidence:
        return "something was recalled where nothing should be"
    return "the line that answers it was not recalled" if answer.recall.memories else "nothing was recalled"


async def _ask(space: Space, question: DemoQuestion) -> Answer:
    found = await space.recall(question.text)
    expected = []
    for hit in found.memories:
        ids = {(item.external_id or "").rpartition("/")[2] for item in await space.evidence(hit.memory.id)}
        if ids & set(question.evidence):
            expected.append(hit.memory.id)
    return Answer(question, found, tuple(expected))


def _answer_data(answer: Answer) -> dict[str, object]:
    return {
        "question": answer.question.text,
        "asked_at": moment(answer.question.time),
        "note": answer.question.note,
        "memories": [hit_data(hit) | {"expected": hit.memory.id in answer.expected} for hit in answer.recall.memories],
        "as_meant": answer.as_meant,
        "degraded": list(answer.recall.degraded),
        "timings_ms": dict(answer.recall.timings_ms),
    }


def _show_import(screen: Screen, imported: Imported, facts: dict[str, object]) -> None:
    screen.line("")
    if imported.stored:
        again = f" {imported.known:,} were in already." if imported.known else ""
        merged = f" {imported.merged:,} said the same as an earlier one and were merged." if imported.merged else ""
        screen.line(
            f"{imported.stored:,} messages of two people over three months are now memories in space {facts['space']}, "
            f"after {facts['import_seconds']} s.{merged}{again}"
        )
    elif facts["memories"] == 0:
        screen.line(
            f"The sample was erased from space {facts['space']}, and what is erased stays erased. To see it again, "
            "name a space where it has not been: --space NAME."
        )
    else:
        screen.line(
            f"All {imported.known:,} messages were in space {facts['space']} already; nothing was imported twice "
            f"({facts['import_seconds']} s)."
        )


def _show_answer(screen: Screen, number: int, answer: Answer) -> None:
    screen.line("")
    took = answer.recall.timings_ms.get("total", 0.0)
    screen.line((f"{number:>2}. {answer.question.text}", "bold"), (f"   {took:.0f} ms", "dim"))
    screen.line((answer.question.note, "italic dim"), indent=4)
    if not answer.recall.memories:
        screen.line("Nothing recalled: nothing is added to the prompt.", indent=4)
    for part in answer.recall.degraded:
        screen.line((f"degraded: {part}", "yellow"), indent=4)
    for hit in answer.recall.memories:
        _show_line(screen, hit, answer.question.text, expected=hit.memory.id in answer.expected)


def _show_line(screen: Screen, hit: Hit, question: str, *, expected: bool) -> None:
    mark = "→ " if expected else "  "
    style = "green" if expected else ""
    screen.line((mark, "green"), (head(hit.memory), "cyan"), "  ", (hit.memory.summary, style), indent=4)
    screen.line((why(hit, question), "dim"), indent=8)
