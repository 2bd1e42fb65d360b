"""A filter holds on every way out: what doesn't fit, or is somebody else's, shows nowhere in an answer.

For each filter a canary is stored that fits everything but this filter: same words, same name, highest salience. It may
not appear in hits, explanations, notes, timings, prompts to a language model, or logs.
"""

from __future__ import annotations

import importlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from perdure import Memory, NotFound, Space
from perdure.recall import recall_for_tasks
from perdure.types import Stored
from tests.doubles.chat_server import ChatServer
from tests.doubles.clock import SkippingClock
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

CANARY = "canary-7f3a"
QUESTION = "When does the landlord of Rosa raise the rent?"
ALLOWED = "The landlord of Rosa raises the rent in January"
FORBIDDEN = f"The landlord of Rosa raises the rent of the {CANARY} in January"
LEADING = "Rosa wrote to the landlord about the rent"


@dataclass(frozen=True)
class Axis:
    """A filter, and what a memory has that fits it or, the canary, doesn't."""

    fits: Mapping[str, object]
    strays: Mapping[str, object]
    filters: Mapping[str, object] = field(default_factory=dict)
    audience: str | None = None
    stray_audience: str | None = None


AXES = {
    "audience": Axis({}, {}, audience="ada", stray_audience="ben"),
    "whole space": Axis({}, {}, stray_audience="ben"),
    "speaker": Axis({"speaker": "Ada"}, {"speaker": "Ben"}, {"speaker": "ADA"}),
    "no speaker": Axis({"speaker": "Ada"}, {}, {"speaker": "ada"}),
    "conversation": Axis({"conversation_id": "c1"}, {"conversation_id": "c2"}, {"conversation_id": "c1"}),
    "metadata": Axis({"metadata": {"n": 1}}, {"metadata": {"n": "1"}}, {"metadata": {"n": 1}}),
    "two of metadata": Axis(
        {"metadata": {"n": 1, "m": True}}, {"metadata": {"n": 1}}, {"metadata": {"n": 1, "m": True}}
    ),
    "tags": Axis({"tags": ["home", "money"]}, {"tags": ["home"]}, {"tags": ["Home", "money"]}),
    "type": Axis({"memory_type": "fact"}, {"memory_type": "event"}, {"memory_type": "fact"}),
    "hidden type": Axis({}, {"memory_type": "reflection"}),
    "since": Axis({"source_date": "2026-01-06"}, {"source_date": "2026-01-05T23:59:59Z"}, {"since": "2026-01-06"}),
    "until": Axis({"source_date": "2026-01-06"}, {"source_date": "2026-01-07"}, {"until": "2026-01-06"}),
}


@dataclass
class Place:
    """A space filled for one filter, seen by whoever may see what fits."""

    memory: Memory
    here: Space
    there: Space
    axis: Axis
    clock: SkippingClock
    chat: ChatServer
    canary: int
    stored: tuple[int, ...]

    @property
    def filters(self) -> Mapping[str, object]:
        return self.axis.filters


@pytest.fixture
async def asking(urls, embedder: HashedEmbedder, noon: SkippingClock, chat: ChatServer) -> AsyncIterator[Memory]:
    chat.answer("rewrite", {"queries": [f"What about the {CANARY} of Rosa?", "rent of the landlord"]})
    chat.answer("rerank", {"numbers": [2, 1]})
    async with open_memory(urls, embedder, clock=noon, subagent_url=chat.url) as memory:
        yield memory


@pytest.fixture(params=AXES)
async def place(request: pytest.FixtureRequest, asking: Memory, noon: SkippingClock, chat: ChatServer) -> Place:
    axis = AXES[request.param]
    name = f"space-{secrets.token_hex(6)}"
    here, there = asking.space(name, audience=axis.audience), asking.space(name, audience=axis.stray_audience)
    stored = [await here.save(text, entities=["Rosa", "Vogt"], salience=2, **axis.fits) for text in (ALLOWED, LEADING)]
    stray = await there.save(FORBIDDEN, entities=["Rosa", "Vogt", CANARY], salience=10, **axis.strays)
    assert isinstance(stray, Stored)
    return Place(asking, here, there, axis, noon, chat, stray.ids[0], tuple(one.ids[0] for one in stored))


async def recalled(place: Place) -> object:
    found = await place.here.recall(QUESTION, limit=20, **place.filters)
    assert ALLOWED in [hit.memory.summary for hit in found.memories]
    assert found.degraded == ()
    return found


async def searched(place: Place) -> object:
    found = await place.here.search(QUESTION, limit=50, **place.filters)
    assert ALLOWED in [hit.memory.summary for hit in found.hits]
    assert found.reranked
    assert place.chat.asked("rerank")
    # The question may name anything; what a memory says may not reach the model.
    assert all(FORBIDDEN not in str(request.data("user")) for request in place.chat.asked("rerank"))
    return found.hits, found.degraded, found.timings_ms


async def searched_plainly(place: Place) -> object:
    return await place.here.search(QUESTION, limit=50, plain=True, **place.filters)


async def searched_exactly(place: Place) -> object:
    return await place.here.search(QUESTION, limit=50, plain=True, exact=True, **place.filters)


async def searched_by_index(place: Place) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.import_module("perdure.store.ranking"), "EXACT_ROWS", 0)
        found = await place.here.search(QUESTION, limit=50, plain=True, **place.filters)
    assert found.path == "index"
    assert ALLOWED in [hit.memory.summary for hit in found.hits]
    return found


async def hopped(place: Place) -> object:
    """What the question finds doesn't speak of rent; Rosa's name leads on to it, and to the canary."""
    for number in range(40):
        note = f"Note {number}: where work stands on item {number} of my list"
        await place.here.save(note, salience=6, **place.axis.fits)
    await place.here.save("The sister of my friend is called Rosa", entities=["Rosa"], **place.axis.fits)
    found = await place.here.search("Where does the sister of my friend work?", plain=True, **place.filters)
    assert ALLOWED in [hit.memory.summary for hit in found.hits if hit.led_by]
    return found


async def searched_the_past(place: Place) -> object:
    place.clock.advance(timedelta(days=10))
    for memory_id in place.stored:
        await place.here.update(memory_id, salience=3)
    await place.there.update(place.canary, salience=9)
    place.clock.advance(timedelta(days=10))
    found = await place.here.search(QUESTION, limit=50, plain=True, as_of="2026-03-05", **place.filters)
    assert ALLOWED in [hit.memory.summary for hit in found.hits]
    return found


async def asked_why_not(place: Place) -> object:
    answers = []
    for searched_for in (False, True):
        for memory_id in (*place.stored, place.canary):
            found = await place.here.why_not(memory_id, QUESTION, searched=searched_for, **place.filters)
            if memory_id != place.canary:
                answers.append(found)
            elif place.here.audience == place.there.audience:
                # Its own memory, which doesn't fit: said by name, and not shown.
                assert found.fate in {"filtered", "hidden"}
                assert found.hit is None
            else:
                assert found.fate == "not_there"
                answers.append(found)
    return answers


async def listed(place: Place) -> object:
    found = [memory for memory in await place.here.list(**place.filters) if memory.memory_type != "reflection"]
    assert ALLOWED in [memory.summary for memory in found]
    return found


async def waiting(place: Place) -> object:
    """Both exchanges wait; a filter that nobody can judge yet leaves both out."""
    origins = ("speaker", "conversation_id")
    for space, said, attributes in (
        (place.here, "Rosa and the rent of the landlord, again", place.axis.fits),
        (place.there, FORBIDDEN + " again", place.axis.strays),
    ):
        date = attributes.get("source_date")
        origin = {name: attributes[name] for name in origins if name in attributes}
        await space.capture(user=said, occurred_at=date, **origin)
    found = await place.here.recall(QUESTION, **place.filters)
    judged = place.filters.keys() & {"metadata", "tags", "memory_type"}
    if place.axis is not AXES["hidden type"]:
        assert len(found.pending) == (0 if judged else 1)
        return found
    return found.memories


async def recalled_for_a_task(place: Place) -> object:
    if place.filters:
        return None
    await place.here.set_task(QUESTION)
    await recall_for_tasks(place.memory.resources, heartbeat=True, stopping=lambda: False)
    found = await place.here.task_recall()
    assert found is not None
    assert ALLOWED in [memory.summary for memory in found.memories]
    return found


async def without_an_embedder(place: Place) -> object:
    embedder = place.memory.resources.embedder
    embedder._inner.outage = True
    return (
        await place.here.recall(QUESTION, **place.filters),
        await place.here.search(QUESTION, limit=50, plain=True, **place.filters),
    )


WAYS = (
    recalled,
    searched,
    searched_plainly,
    searched_exactly,
    searched_by_index,
    hopped,
    searched_the_past,
    asked_why_not,
    listed,
    waiting,
    recalled_for_a_task,
    without_an_embedder,
)


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_of_a_memory_that_does_not_fit_gets_out(
    place: Place, way: Callable[[Place], Awaitable[object]], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG", logger="perdure"):
        answer = await way(place)
    assert CANARY not in repr(answer)
    assert CANARY not in caplog.text


async def test_without_the_filter_the_canary_sings(place: Place) -> None:
    """The same question finds it first where it may be found: what the other tests miss is there."""
    filters = {"memory_type": "reflection"} if place.axis is AXES["hidden type"] else {}
    found = await place.there.search(QUESTION, plain=True, **filters)
    assert FORBIDDEN in [hit.memory.summary for hit in found.hits]


@pytest.mark.parametrize("call", ["get", "evidence", "history", "forget", "pin", "restore"])
async def test_a_memory_of_another_audience_is_not_there_for_any_verb(asking: Memory, call: str) -> None:
    name = f"space-{secrets.token_hex(6)}"
    stored = await asking.space(name, audience="ben").save(FORBIDDEN)
    for audience in ("ada", None):
        with pytest.raises(NotFound) as refused:
            await getattr(asking.space(name, audience=audience), call)(stored.ids[0])
        assert CANARY not in repr(refused.value)
