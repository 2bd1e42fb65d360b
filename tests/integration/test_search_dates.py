"""A question that names a day from today, or writes it out, finds what was said on it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from perdure import InvalidInput, Space
from perdure.types import Message

FIRST = datetime(2024, 4, 2, 10, tzinfo=UTC)
ASKED = FIRST + timedelta(days=42)  # 14 May, a Tuesday
DAYS = ("planted beans", "planted tulips", "planted mint", "planted onions", "planted carrots", "planted thyme")


@pytest.fixture
async def garden(space: Space) -> Space:
    """A plant each week, the last on the Tuesday before the question."""
    said = [
        Message(f"m{week}", f"Today I {what} in the garden", "Ada", FIRST + timedelta(weeks=week))
        for week, what in enumerate(DAYS)
    ]
    await space.import_messages(said, source="test")
    return space


async def first(space: Space, query: str, asked_at: datetime | str | None = ASKED) -> str:
    found = await space.search(query, asked_at=asked_at, limit=1)
    return found.hits[0].memory.summary.removeprefix("Today I ").removesuffix(" in the garden")


@pytest.mark.parametrize(
    ("query", "week"),
    [
        ("What was planted two weeks ago?", 4),
        ("What was planted last Tuesday?", 5),
        ("garden, hace tres semanas", 3),
        ("garden 五周前", 1),
        ("What was planted in the garden on April 16?", 2),
        ("garden, le 23 avril", 3),
    ],
)
async def test_the_day_that_a_question_names_decides_among_the_like(garden: Space, query: str, week: int) -> None:
    assert await first(garden, query) == DAYS[week]


async def test_days_are_counted_from_when_the_question_was_asked(garden: Space) -> None:
    query = "What was planted a week ago?"
    assert await first(garden, query, ASKED - timedelta(weeks=2)) == DAYS[3]
    assert await first(garden, query, "2024-04-16T12:00:00Z") == DAYS[1]


async def test_a_question_about_the_past_counts_from_then(garden: Space) -> None:
    then = datetime.now(UTC) + timedelta(seconds=1)
    today = await garden.search("planted today", as_of=then, limit=1)
    assert not [term for term in today.hits[0].matched if term.startswith("@m4d")]


async def test_a_day_on_which_nothing_was_said_leaves_the_order_to_the_words(garden: Space) -> None:
    assert await first(garden, "Were tulips planted yesterday?") == "planted tulips"


async def test_a_time_that_is_none_is_refused(garden: Space) -> None:
    with pytest.raises(InvalidInput, match="asked_at"):
        await garden.search("garden", asked_at="whenever")
