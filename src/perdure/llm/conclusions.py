"""What a language model may conclude in quiet hours: the schemas of consolidation, episodes and reflection (spec 6).

Every conclusion names the memories that it rests on, by the numbers under which they were shown; others don't count.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from perdure.llm.schemas import Answer, Line, Name, _clean, _labels, _lower, _number

MOST_SHOWN = 99
"""Memories that one question shows, at most."""

Number = Annotated[int, Field(ge=1, le=MOST_SHOWN), BeforeValidator(_number)]
"""A memory, by the number under which it was shown."""

Cited = Annotated[list[Number], Field(max_length=20)]

Change = Annotated[Literal["set", "remove"], BeforeValidator(_lower)]


class ProfileUpdate(Answer):
    """One line of the identity card that is new, or otherwise than before."""

    field: Annotated[
        Literal["name", "pronouns", "location", "occupation", "important_people", "recurring_topics"],
        BeforeValidator(_lower),
    ]
    action: Change
    value: Annotated[str, Field(min_length=1, max_length=100), BeforeValidator(_clean)]
    relation: Annotated[str, Field(max_length=60), BeforeValidator(_clean)] = Field(
        description="what a person is to the user; empty elsewhere"
    )
    rests_on: Cited


class TraitUpdate(Answer):
    """One trait of the user that is new, otherwise than before, or no longer so."""

    category: Annotated[
        Literal["interest", "hobby", "goal", "worldview", "style", "preference"], BeforeValidator(_lower)
    ]
    action: Change
    key: Name
    value: Annotated[str, Field(max_length=200), BeforeValidator(_clean)]
    rests_on: Cited


class Merge(Answer):
    """Memories that say the same, and one sentence that says all that they say."""

    rests_on: Annotated[list[Number], Field(max_length=8)]
    summary: Annotated[str, Field(min_length=1, max_length=800), BeforeValidator(_clean)]


class Consolidated(Answer):
    """What memories change about who the user is."""

    profile_updates: list[ProfileUpdate] = Field(max_length=20)
    trait_updates: list[TraitUpdate] = Field(max_length=20)
    merges: list[Merge] = Field(max_length=8)


class EpisodeSummary(Answer):
    """What happened, out of memories of one day that belong together."""

    summary: Annotated[str, Field(min_length=1, max_length=1000), BeforeValidator(_clean)] = Field(
        description="two to four sentences, in the language of the memories"
    )
    tags: Annotated[list[Name], Field(max_length=4), _labels(4, 60)]


class Insight(Answer):
    """One thing that several memories show together."""

    text: Line
    rests_on: Cited


Insights = Annotated[list[Insight], Field(max_length=6)]


class Reflected(Answer):
    """What the memories since the last reflection show (spec 6: four sections)."""

    patterns: Insights
    evolving_interests: Insights
    connections: Insights
    predictions: Insights
