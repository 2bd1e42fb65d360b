"""A conclusion that rests on what is forgotten goes with its words, and is drawn anew from what is left."""

from __future__ import annotations

import secrets
from datetime import timedelta

import pytest

from perdure import Space
from perdure.rules.identity import card
from tests.doubles.chat_server import ChatServer, Request
from tests.doubles.clock import SkippingClock
from tests.integration.dumping import tables_with
from tests.integration.test_cognition import number_of, of_type, save, trait, update


@pytest.fixture
def canary() -> str:
    return f"zq{secrets.token_hex(5)}x"


async def test_a_line_and_a_trait_go_though_others_bear_them_out_and_are_concluded_anew(
    judged: Space, chat: ChatServer, noon: SkippingClock, canary: str
) -> None:
    secret = await save(judged, f"Ada drinks {canary} tea every morning.", salience=9)
    tea = await save(judged, "Ada likes tea of any kind in the evening.", salience=9)
    chat.answer(
        "consolidation",
        {
            "profile_updates": [update("location", f"near {canary}", [1, 2])],
            "trait_updates": [trait("tea", f"drinks {canary} tea", [1, 2])],
        },
    )
    await judged.think()
    noon.advance(timedelta(days=80))
    await judged.upkeep()
    assert (await judged.get(tea)).salience < 8
    receipt = await judged.forget(secret)
    assert receipt.again == (tea,)
    assert receipt.removed["traits"] == 1
    assert await tables_with(judged._memory, canary) == []
    assert (card((await judged.identity()).profile), await judged.traits(former=True)) == ("", ())

    def anew(request: Request) -> dict[str, object]:
        return {"trait_updates": [trait("tea", "likes tea", [number_of(request, "tea of any kind")])]}

    chat.answer("consolidation", anew)
    await judged.think()
    assert [one.value for one in await judged.traits()] == ["likes tea"]
    asked = len(chat.asked("consolidation"))
    await judged.think()
    assert len(chat.asked("consolidation")) == asked


async def test_former_values_that_rest_on_the_forgotten_go_and_the_present_one_stays(
    judged: Space, chat: ChatServer, noon: SkippingClock, canary: str
) -> None:
    first = await save(judged, f"Ada drinks {canary} tea.", salience=9)
    chat.answer("consolidation", {"trait_updates": [trait("tea", canary, [1])]})
    await judged.consolidate()
    noon.advance(timedelta(hours=1))
    await save(judged, "Ada drinks black tea.", salience=9)
    chat.answer("consolidation", {"trait_updates": [trait("tea", "black", [1])]})
    await judged.consolidate()
    receipt = await judged.forget(first)
    assert receipt.again == ()
    assert [one.value for one in await judged.traits(former=True)] == ["black"]
    assert await tables_with(judged._memory, canary) == []


async def test_an_episode_goes_with_one_of_its_members_and_is_told_anew_from_the_others(
    judged: Space, chat: ChatServer, canary: str
) -> None:
    chat.answer("episode", {"summary": f"Ada saw the old harbour with {canary}.", "tags": [canary]})
    trip = [await save(judged, f"Ada walks through the old harbour of Oslo, part {n}.") for n in range(4)]
    trip.append(await save(judged, f"Ada walks through the old harbour of Oslo with {canary}."))
    assert (await judged.think()).conclusions == {"episodes": 1}
    (episode,) = await of_type(judged, "episode")
    assert trip[-1] in episode.related_ids
    preview = await judged.preview_forget(ids=trip[-1:])
    assert preview.concluded == (episode.id,)
    receipt = await judged.forget(trip[-1])
    assert receipt.ids == preview.ids
    assert set(receipt.again) == set(trip[:-1])
    assert await tables_with(judged._memory, canary) == []
    assert all(trip[-1] not in run.read_ids for run in await judged.cognition_runs())
    chat.answer("episode", {"summary": "Ada saw the old harbour.", "tags": []})
    await judged.think()
    (episode,) = await of_type(judged, "episode")
    assert set(episode.related_ids) == set(trip[:-1])


async def test_an_episode_that_is_forgotten_by_itself_is_not_told_again(judged: Space, chat: ChatServer) -> None:
    for n in range(4):
        await save(judged, f"Ada walks through the old harbour of Oslo, part {n}.")
    await judged.think()
    (episode,) = await of_type(judged, "episode")
    assert (await judged.forget(episode.id)).again == ()
    await judged.think()
    assert await of_type(judged, "episode") == []


async def test_a_reflection_goes_with_one_of_what_it_cites_and_the_others_are_reflected_on_again(
    judged: Space, chat: ChatServer, noon: SkippingClock, canary: str
) -> None:
    secret = await save(judged, f"Ada met {canary} on Monday.", salience=9)
    tea = await save(judged, "Ada drank tea on Tuesday.", salience=9)
    for n in range(60):
        await save(judged, f"Note {n} about matter {n * 7919}.", salience=3)

    def answer(request: Request) -> dict[str, object]:
        bases = [number_of(request, "on Monday"), number_of(request, "on Tuesday")]
        return {"patterns": [{"text": f"Ada and {canary}", "rests_on": bases}]}

    chat.answer("reflection", answer)
    await judged.think()
    (reflection,) = await of_type(judged, "reflection")
    receipt = await judged.forget(secret)
    assert reflection.id in receipt.ids
    assert receipt.again == (tea,)
    assert await tables_with(judged._memory, canary) == []
    for n in range(60):
        await save(judged, f"Idea {n} of {n * 104729}.", salience=3)
    noon.advance(timedelta(hours=5))
    shown: list[bool] = []

    def again(request: Request) -> dict[str, object]:
        shown.append("on Tuesday" in request.data("memories"))
        return {"patterns": []}

    chat.answer("reflection", again)
    await judged.think()
    assert shown == [True]
