"""Rendered text of facts: kept as long as it is true, and let go of with the change that makes it stale."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from perdure.ltm import render_facts
from tests.doubles.prompt_parts import personal_fact

if TYPE_CHECKING:
    from perdure import Memory, Space


def kept(memory: Memory) -> int:
    return sum(len(texts) for texts in memory.resources.rendered.values())


async def test_the_same_facts_under_the_same_names_are_rendered_once(memory: Memory) -> None:
    facts = [personal_fact(1, "{user} likes figs"), personal_fact(2, "{bot} likes plums")]
    first = render_facts(memory.resources, 1, facts, "Ada", "Momo")
    assert first.count("\n") == 1
    assert render_facts(memory.resources, 1, list(facts), "Ada", "Momo") is first
    assert kept(memory) == 1


async def test_another_name_revision_or_fact_is_another_text(memory: Memory) -> None:
    fact = personal_fact(1, "{user} likes figs")
    later = replace(fact, content="{user} likes dates", revision=2, updated_at=fact.updated_at + timedelta(days=1))
    texts = {
        render_facts(memory.resources, 1, facts, user, bot)
        for facts, user, bot in [
            ([fact], "Ada", "Momo"),
            ([fact], "Countess", "Momo"),
            ([later], "Ada", "Momo"),
            ([fact, personal_fact(2, "more")], "Ada", "Momo"),
        ]
    }
    assert len(texts) == 4


async def test_what_every_persona_knows_stands_before_what_this_one_knows(memory: Memory) -> None:
    own, common = personal_fact(1, "own"), personal_fact(2, "common")
    common = replace(common, scope=replace(common.scope, lineage=0))
    text = render_facts(memory.resources, 1, [own, common], "Ada", "Momo")
    assert text.index("common") < text.index("own")


async def test_room_for_texts_is_bounded(memory: Memory) -> None:
    for number in range(1, 100):
        render_facts(memory.resources, 1, [personal_fact(number, "a")], "Ada", "Momo")
    assert kept(memory) <= 16


async def test_a_change_lets_go_of_the_text_of_its_scope_alone(memory: Memory, space: Space) -> None:
    mine = await space.remember("{user} likes figs")
    other = await space.remember("no shoes inside", about="server:guild")
    known = {str(one.fact.id): one.fact for one in await space.facts()}
    row = await memory.find_space(space.name)
    assert row is not None
    for fact in known.values():
        render_facts(memory.resources, row.id, [fact], "Ada", "Momo")
    await space.edit_fact(mine.id, content="{user} likes dates")
    assert [scope.kind for _, scope in memory.resources.rendered] == [known[str(other.id)].scope.kind]
