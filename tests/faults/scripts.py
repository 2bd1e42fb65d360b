"""What a client does in each scenario of the kill matrix: calls in order, each safe to repeat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from perdure import SimulatedClock, Space
from perdure.connect import IcsFile, MailFile
from perdure.errors import Conflict, DatabaseUnavailable, NotFound
from perdure.fact_types import Fact, FactOutcome, FactStatus, Participant, Persona, TurnState
from perdure.ingest import drain_pending_triage
from perdure.llm import Models
from perdure.types import Hit, Message, Recall
from perdure.worker import Worker
from tests.doubles.chat_server import Request, serving

Step = Callable[[Space], Awaitable[object]]
DATA: Final = Path(__file__).parent / "data"
NOON: Final = datetime(2026, 3, 2, 12, tzinfo=UTC)
TAUGHT_IN: Final = TurnState("guild", "general", Persona(10_042, "Momo"), Participant("u-ada", "Ada"))
LATER: Final = timedelta(minutes=10)
"""How long a client stays away after a fault: every lease has run out by then."""
LONG: Final = " ".join(f"On day {day} of the trip we walked {day + 7} kilometres along the coast." for day in range(40))


@contextmanager
def no_model() -> Iterator[Mapping[str, Any]]:
    """Settings without a language model."""
    yield {}


@contextmanager
def one_model() -> Iterator[Mapping[str, Any]]:
    """Settings with a scripted model in both roles: the same words always get the same verdict."""
    with serving() as server:
        server.answer("triage", _judged)
        server.answer("contradiction", _compared)
        server.answer("entities", lambda request: {"entities": ["bicycle"] if "bicycle" in request.user else []})
        slots = {"thinker_slots": 1, "subagent_slots": 1}
        yield {"thinker_url": server.url, "subagent_url": server.url, **slots}


def _judged(request: Request) -> dict[str, Any]:
    said = request.data("user")
    if "thanks" in said:
        return {"salience": 2, "save": False}
    return {"salience": 9, "paradigm_shift": True} if "promoted" in said else {"salience": 7}


def _compared(request: Request) -> dict[str, Any]:
    both = "bicycle" in request.data("new") and "bicycle" in request.data("old")
    return {"verdict": "UPDATES" if both else "COMPATIBLE"}


@dataclass(frozen=True)
class Script:
    """Calls in order; the first `prepared` of them are no subject of the scenario and meet no fault."""

    steps: tuple[Step, ...]
    prepared: int = 0
    surroundings: Callable[[], AbstractContextManager[Mapping[str, Any]]] = no_model


def capture(number: int, user: str, assistant: str = "", conversation: str = "talk", **named: Any) -> Step:
    async def step(space: Space) -> object:
        return await space.capture(
            user=user,
            assistant=assistant,
            conversation_id=conversation or None,
            occurred_at=NOON + timedelta(minutes=number),
            operation_id=f"capture-{number}",
            **named,
        )

    return step


def save(number: int, text: str, **named: Any) -> Step:
    async def step(space: Space) -> object:
        at = NOON + timedelta(minutes=number)
        return await space.save(text, source_date=at, operation_id=f"save-{number}", **named)

    return step


async def drain(space: Space) -> object:
    return await space.drain()


async def heartbeat(space: Space) -> None:
    """One tick of a worker, which waits by itself for a database that is gone: then it is looked at once more."""
    await Worker(space._memory.resources).tick(heartbeat=True)
    if (await space.stats()).pending:
        raise DatabaseUnavailable("The tick left something for the next one.")


async def memory_called(space: Space, words: str) -> int | None:
    """The first chunk of the memory that begins with these words."""
    ids = [each.id for each in await space.list(limit=1000) if each.summary.startswith(words)]
    return min(ids, default=None)


def update(words: str, **named: Any) -> Step:
    async def step(space: Space) -> object:
        found = await memory_called(space, words)
        # Two who ask for the same change: the later one hears so, and has what it wanted.
        with suppress(Conflict, NotFound):
            return None if found is None else await space.update(found, **named)
        return None

    return step


def pin(words: str) -> Step:
    async def step(space: Space) -> object:
        found = await memory_called(space, words)
        with suppress(NotFound):
            if found is not None:
                await space.pin(found)
        return None

    return step


def forget(words: str) -> Step:
    async def step(space: Space) -> object:
        found = await memory_called(space, words)
        with suppress(NotFound):
            return None if found is None else await space.forget(found)
        return None

    return step


def import_messages(first: int, last: int) -> Step:
    messages = [
        Message(
            f"message-{number}",
            f"The {number}th stop of the bus is at the {('mill', 'church', 'harbour')[number % 3]}",
            "Ada" if number % 2 else "Assistant",
            NOON + timedelta(minutes=number),
            "bus",
        )
        for number in range(first, last)
    ]

    async def step(space: Space) -> object:
        return await space.import_messages(messages, source="bus.jsonl")

    return step


EXCHANGES: Final = (
    capture(1, "The bicycle is blue and stands in the shed", "A blue bicycle, noted", speaker="Ada"),
    capture(
        2,
        "My sister lives in Lyon",
        "Lyon it is",
        tools=[{"name": "weather", "content": "It rains in Lyon until Thursday", "ok": True}],
    ),
    capture(3, "The landlord raises the rent in January", conversation="rent"),
    capture(4, "The bicycle is blue and stands in the shed", "A blue bicycle, noted", speaker="Ada"),
    capture(5, LONG, "A long walk", conversation=""),
)


def answered(number: int, user: str, assistant: str, *recalled: str) -> Step:
    """An exchange with the memories in its prompt that begin with these words."""

    async def step(space: Space) -> object:
        ids = [await memory_called(space, words) for words in recalled]
        hits = [Hit(await space.get(each), 1.0, 1.0, {}, ()) for each in ids if each is not None]
        prompt = Recall(user, tuple(hits), (), "", "", (), {})
        return await capture(number, user, assistant, recall=prompt)(space)

    return step


def archive(number: int, *said: str, conversation: str = "window") -> Step:
    messages = [
        {"role": ("user", "assistant")[n % 2], "content": text, "at": (NOON + timedelta(minutes=number)).isoformat()}
        for n, text in enumerate(said)
    ]

    async def step(space: Space) -> object:
        return await space.archive(messages, conversation_id=conversation, operation_id=f"archive-{number}")

    return step


async def bootstrap(space: Space) -> object:
    text = "Ada builds boats in Brest. She sings in a choir and has a sister in Lyon."
    return await space.bootstrap(text, speaker="Ada", operation_id="bootstrap-1")


async def import_mails(space: Space) -> object:
    with MailFile(DATA / "inbox.mbox") as source:
        return await space.import_from(source)


async def import_events(space: Space) -> object:
    return await space.import_from(IcsFile(DATA / "events.ics"))


async def drain_without_model(space: Space) -> object:
    """What a worker does while no model is configured."""
    known = space._memory.resources
    at_once = known.settings.model_copy(update={"wait_for_model_s": 0.0})
    resources = replace(known, models=Models.none(), settings=at_once)
    row = await space._memory.find_space(space.name)
    assert row is not None
    return await drain_pending_triage(resources, row, f"verbatim-{uuid4()}")


async def retriage(space: Space) -> object:
    return await space.retriage()


def add_document(name: str, revision: int, text: str) -> Step:
    """Hands a file in, unless a version of this number is there by now."""

    async def step(space: Space) -> object:
        there = [each for each in await space.documents() if each.name == name and each.state == "complete"]
        if there and there[0].revision >= revision:
            return None
        # Whoever hung until it was in and deleted again hears so.
        with suppress(Conflict, NotFound):
            return await space.add_document(text, name=name)
        return None

    return step


def delete_document(name: str) -> Step:
    async def step(space: Space) -> object:
        for each in await space.documents():
            if each.name == name:
                with suppress(NotFound):
                    await space.delete_document(each.id)
        return None

    return step


def remember(number: int, text: str, **named: Any) -> Step:
    async def step(space: Space) -> object:
        return await space.remember(text, operation_id=f"fact-{number}", **named)

    return step


def teach(content: str) -> Step:
    """A model's call of `create_long_term_memory`."""

    async def step(space: Space) -> object:
        arguments = {"memory_content": content, "memory_scope": "server_wide"}
        return _done(await space.create_long_term_memory(TAUGHT_IN, arguments))

    return step


def teach_anew(words: str, content: str) -> Step:
    """A model's call of `update_long_term_memory` on the fact that begins with these words, as long as it is new."""

    async def step(space: Space) -> object:
        fact = await fact_called(space, words)
        if fact is None or fact.revision > 1:
            return None
        arguments = {"memory_id": str(fact.id), "memory_content": content}
        return _done(await space.update_long_term_memory(TAUGHT_IN, arguments))

    return step


def _done(outcome: FactOutcome) -> FactOutcome:
    if outcome.status is FactStatus.UNAVAILABLE:
        raise DatabaseUnavailable(outcome.message)
    return outcome


def with_fact(words: str, verb: str, **named: Any) -> Step:
    """Something that a person does with the fact that begins with these words, if it is still to be done."""

    async def step(space: Space) -> object:
        fact = await fact_called(space, words)
        with suppress(Conflict, NotFound):
            if fact is not None:
                return await getattr(space, verb)(fact.id, **named)
        return None

    return step


async def fact_called(space: Space, words: str) -> Fact | None:
    found = [each.fact for each in await space.facts(archived=True) if each.fact.content.startswith(words)]
    return found[0] if found else None


@contextmanager
def short_memory() -> Iterator[Mapping[str, Any]]:
    """Settings with which what has faded goes after five days."""
    yield {"staleness_days": 5, "history_days": 20}


async def keep_up(space: Space) -> None:
    """Upkeep forty days later, however often it is called."""
    clock = space._memory.resources.database.clock
    assert isinstance(clock, SimulatedClock)
    now = clock.now()
    assert now is not None
    if now < NOON + timedelta(days=40):
        clock.advance(timedelta(days=40))
    if not (await space.upkeep()).finished:
        raise DatabaseUnavailable("Somebody else is at it.")


async def think(space: Space) -> None:
    report = await space.think()
    if report.outage or report.failed or report.busy:
        raise DatabaseUnavailable(f"Not thought through: {report}")


@contextmanager
def a_thinker() -> Iterator[Mapping[str, Any]]:
    """Settings with a model that concludes the same of the same memories."""
    with serving() as server:
        server.answer("consolidation", _concluded)
        server.answer("entities", {"entities": ["Oslo"]})
        server.answer("episode", {"summary": "A walk through the old harbour of Oslo.", "tags": ["trip"]})
        yield {"thinker_url": server.url, "subagent_url": server.url, "thinker_slots": 1, "subagent_slots": 1}


def _concluded(request: Request) -> dict[str, Any]:
    shown = request.data("memories").splitlines()
    homes = [(number, line.rsplit(" ", 1)[1]) for number, line in enumerate(shown, 1) if "lives in" in line]
    said = {"action": "set", "relation": ""}
    return {
        "profile_updates": [{**said, "field": "location", "value": city, "rests_on": [n]} for n, city in homes],
        "trait_updates": [
            {"category": "preference", "action": "set", "key": "home", "value": city, "rests_on": [n]}
            for n, city in homes
        ],
    }


RECALLED: Final = (
    save(1, "The tent is green and leaks at the seam"),
    save(2, LONG),
    answered(3, "What shall I bring?", "Bring tape for the seam of the green tent", "The tent", "On day 0"),
    answered(4, "And what to drink?", "Tea", "The tent"),
)

ARCHIVES: Final = (
    archive(1, "The cellar was flooded in April", "That sounds bad", "The pump is from 1980"),
    archive(2, "The new pump came in May", "Good"),
)

LONG_TALK: Final = (LONG, "Long", LONG.replace("walked", "rode"), "Longer", LONG.replace("walked", "sailed"))

TALK: Final = (
    capture(1, "My bicycle is blue and stands in the shed"),
    capture(2, "Sorry, my bicycle is red by now"),
    capture(3, "I was promoted to head of the workshop", conversation="work"),
    capture(4, "Fine, thanks", conversation="work"),
)

FACTS: Final = (
    remember(1, "{user} drinks tea", tags=["drinks"]),
    remember(2, "{user} drinks  TEA"),
    remember(3, "Soup on Fridays", about="server:guild", persona=TAUGHT_IN.persona),
    remember(4, "Cake on Sundays", about="server:guild", persona=TAUGHT_IN.persona),
    remember(5, "The spare key lies under the mat"),
    teach("Chess on Mondays"),
    teach_anew("Soup", "Stew on Fridays"),
    teach_anew("Cake", ""),
    with_fact("Cake", "restore_fact"),
    with_fact("{user}", "edit_fact", content="{user} drinks coffee"),
    with_fact("Chess", "pin_fact"),
    with_fact("The spare key", "forget_fact"),
)

SCRIPTS: Final[Mapping[str, Script]] = {
    "capture": Script((*EXCHANGES[:3], drain)),
    "drain": Script((*EXCHANGES, drain), prepared=len(EXCHANGES)),
    "worker": Script((*EXCHANGES[:2], heartbeat), prepared=2),
    "save": Script(
        (
            save(1, "The piano was tuned in May", tags=["music"]),
            save(2, LONG),
            save(3, "The piano was tuned in May", tags=["piano"]),
        )
    ),
    "change": Script(
        (
            save(1, "The tent is green", entities=["Tent"]),
            save(2, LONG),
            save(3, "The stove is in the attic"),
            update("The tent is green", text="The tent is green and leaks", tags=["camping"]),
            pin("On day 0"),
            forget("The stove"),
        ),
        prepared=3,
    ),
    "documents": Script(
        (
            add_document("walk.txt", 1, LONG),
            add_document("walk.txt", 2, LONG.replace("walked", "sailed") + LONG * 5),
            add_document("stove.txt", 1, "The stove is in the attic"),
            delete_document("stove.txt"),
        ),
        prepared=1,
    ),
    "facts": Script(FACTS),
    "upkeep": Script(
        (
            save(1, "The tent is green", salience=1),
            save(2, LONG, salience=1),
            save(3, "The stove is in the attic", salience=9),
            update("The stove", text="The stove is in the cellar"),
            keep_up,
        ),
        prepared=4,
        surroundings=short_memory,
    ),
    "cognition": Script(
        (
            save(1, "Ada lives in Boston", salience=9),
            save(2, "Ada walks through the old harbour of Oslo, part 1"),
            save(3, "Ada walks through the old harbour of Oslo, part 2"),
            think,
            save(4, "Ada lives in Denver", salience=9),
            think,
            drain,
        ),
        prepared=3,
        surroundings=a_thinker,
    ),
    "feedback": Script((*RECALLED, drain), prepared=2),
    "judged feedback": Script((*RECALLED, drain), prepared=2, surroundings=one_model),
    # The first exchange is settled, its quality too, before it is corrected: whether the quality of a memory is told
    # just before or just after it is superseded is left to chance, and shows.
    "triage": Script((TALK[0], drain, *TALK[1:], drain), prepared=len(TALK) + 1, surroundings=one_model),
    "retriage": Script(
        (*TALK[2:], drain_without_model, retriage, drain), prepared=len(TALK[2:]) + 1, surroundings=one_model
    ),
    "judged save": Script((save(1, "My bicycle is blue"), save(2, "My bicycle is red"), drain), surroundings=one_model),
    "archive": Script((*ARCHIVES, drain)),
    "distilled archive": Script((*ARCHIVES, drain), surroundings=one_model),
    "long archive": Script((archive(1, *LONG_TALK), drain), surroundings=one_model),
    "bootstrap": Script((bootstrap, drain), surroundings=one_model),
    "mail": Script((import_mails, drain)),
    "judged mail": Script((import_mails, drain), surroundings=one_model),
    "calendar": Script((import_events, drain)),
    "import": Script((import_messages(0, 4), import_messages(2, 7))),
}
