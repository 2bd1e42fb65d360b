"""Over many turns memories that help rise and those that don't sink, and who came first has no lead for good.

The story and its picture are in docs/feedback.md; `benchmarks/feedback.py` tells it.
"""

from __future__ import annotations

import pytest

from benchmarks.feedback import TOPICS, Story, tell
from perdure.store.embedded import ServerUrls


def check(story: Story) -> None:
    """What is promised of a story of any length."""
    useful, useless, stale, newcomer = map(story.last, ("useful", "useless", "stale", "newcomer"))
    assert useful.usefulness > 0.75
    assert newcomer.usefulness > 0.6
    assert useless.usefulness < 0.25
    assert useful.salience > useless.salience + 1
    assert newcomer.salience > stale.salience + 0.5
    # A newcomer overtakes what it replaces, and is asked as often as what has been useful from the beginning.
    assert story.ahead >= 1 - 1 / len(TOPICS)
    known, new = (story.retrieved(group, story.middle, story.turns) for group in ("useful", "newcomer"))
    assert new > 0.7 * known
    assert known > 1.2 * story.retrieved("useless", story.middle, story.turns)


async def test_useful_memories_rise_useless_ones_sink_and_newcomers_overtake(fresh_database: ServerUrls) -> None:
    check(await tell(fresh_database, 200))


@pytest.mark.long
async def test_a_thousand_turns_come_to_rest_and_serve_better_than_popularity_would(
    fresh_database: ServerUrls,
) -> None:
    story = await tell(fresh_database, 1000)
    check(story)
    assert story.last("useful").usefulness > 0.99
    assert story.last("useless").usefulness < 0.05
    assert story.last("useless").salience == pytest.approx(1.0, abs=0.01)
    assert story.last("stale").usefulness < 0.25
    assert story.last("useful").salience == pytest.approx(story.last("newcomer").salience, abs=0.3)
    literal = await tell(fresh_database, 1000, boost="every")
    assert story.helped(story.middle, story.turns) > literal.helped(story.middle, story.turns) + 0.05
    # Counted whether it helped or not, what is useless is worth as much as what is useful.
    assert literal.last("useless").salience > literal.last("useful").salience - 0.3
