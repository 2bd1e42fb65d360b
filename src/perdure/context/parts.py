"""What a prompt is made of: values that come from all the rooms that remember."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from perdure.context.blocks import Passage
from perdure.fact_types import Fact
from perdure.rules.identity import Profile
from perdure.types import Hit, PendingItem


@dataclass(frozen=True, slots=True)
class Trait:
    """A trait of the user that holds."""

    category: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class PersonFacts:
    """A participant and their facts that are active. `name` is also what `{user}` stands for in them."""

    user_id: str
    name: str
    aliases: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class RecalledFact:
    """A fact that this turn brought back, by meaning or keyword; `owner` is the name of its person, None a server's."""

    fact: Fact
    owner: str | None


@dataclass(frozen=True, slots=True)
class Parts:
    """All that may stand in a prompt; each sequence best first, where there is a better.

    `bot` is what `{bot}` stands for. `now` is None where nobody could tell the time.
    """

    instructions: str = ""
    identity: Profile = field(default_factory=Profile)
    traits: Sequence[Trait] = ()
    server: Sequence[Fact] = ()
    people: Sequence[PersonFacts] = ()
    recalled: Sequence[RecalledFact] = ()
    documents: Sequence[Passage] = ()
    memories: Sequence[Hit] = ()
    pending: Sequence[PendingItem] = ()
    now: datetime | None = None
    time_zone: str = "UTC"
    bot: str = "Assistant"
