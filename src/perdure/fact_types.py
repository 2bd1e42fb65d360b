"""Facts that an assistant teaches itself, and the turn in which it does: frozen values without behaviour.

A fact belongs to a server or to a person, and to one persona's lineage or, as lineage 0, to every persona.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from perdure.rules.fact_ids import FactId, FactKind, parse

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

EVERY_LINEAGE = 0
"""The lineage of what every persona knows; reserved for what people write, refused for what is self-taught."""
FIRST_LINEAGE = 10_000
"""Lineages of personas begin here."""


def _as_written(cls: type[FactId], source: object, handler: object) -> CoreSchema:
    """Lets pydantic read and write the id of a fact as people do: S24."""
    from pydantic_core import core_schema  # noqa: PLC0415 - not needed to use the types

    as_text = core_schema.to_string_ser_schema()
    written = core_schema.no_info_after_validator_function(parse, core_schema.str_schema(), serialization=as_text)
    return core_schema.union_schema([core_schema.is_instance_schema(cls), written], serialization=as_text)


# rules/ knows nothing but the standard library, so it is said here.
FactId.__get_pydantic_core_schema__ = classmethod(_as_written)  # type: ignore[attr-defined]


class Privacy(StrEnum):
    """What may be learnt of a person: minimal, an assistant may by itself; partial, only by hand; full, nothing."""

    MINIMAL = "minimal"
    PARTIAL = "partial"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class FactScope:
    """Whose facts, and which persona's: `owner` is a server's id or a person's, `lineage` 0 is every persona."""

    kind: FactKind
    owner: str
    lineage: int


@dataclass(frozen=True, slots=True)
class Fact:
    """A self-taught fact as it is stored: `{user}` and `{bot}` stand for the names.

    Attributes:
        tags: keywords, any of which has to occur for the fact to be used; none: always.
        channel_ids: where it is used; none: everywhere.
        taught_by: id of who taught it; None where nobody is known.
        revision: 1 at first, one more with each change but those of counting.
        decay_days: days (UTC) on which it was scored and did not win since it last did, 0 or more.
        last_counted_day: the day (UTC) that counted last, by losing or winning.
        evidence: the turn in which it was taught, as far as it is known.
    """

    id: FactId
    scope: FactScope
    content: str
    tags: tuple[str, ...]
    channel_ids: tuple[str, ...]
    taught_by: str | None
    pinned: bool
    created_at: datetime
    updated_at: datetime
    revision: int
    decay_days: int = 0
    last_counted_day: date | None = None
    evidence: Mapping[str, object] = field(default_factory=dict)


class FactStage(StrEnum):
    """Derived whenever it is asked for, never stored; archived is what was replaced or deleted and can come back."""

    ACTIVE = "active"
    DORMANT = "dormant"
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class ListedFact:
    """A fact and its stage now."""

    fact: Fact
    stage: FactStage


@dataclass(frozen=True, slots=True)
class FactChange:
    """What a fact was before one change of it, and who changed it when. `action` names the change."""

    action: str
    changed_at: datetime
    changed_by: str
    revision: int
    content: str
    tags: tuple[str, ...]
    channel_ids: tuple[str, ...]
    pinned: bool


@dataclass(frozen=True, slots=True)
class Persona:
    """Who the assistant is in a turn. `lineage` is its identity across servers, from 10000 on."""

    lineage: int
    name: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Participant:
    """A person who takes part in the conversation; `name` is what is shown, `aliases` what else they are called.

    `impersonated`: the persona speaks as this person in this turn, and knows what is known of them alone.
    """

    user_id: str
    name: str
    aliases: tuple[str, ...] = ()
    impersonated: bool = False


@dataclass(frozen=True, slots=True)
class TurnState:
    """Where a turn takes place, and who takes part: what the tools and the facts of a prompt need to know.

    Attributes:
        server_id: None in a conversation that belongs to no server.
        speaker: whose message is answered; one of the participants.
        message: what the speaker said, where the host tells; a wish not to be remembered is respected.
        message_id: the host's id of that message; kept as evidence of what is taught in this turn.
    """

    server_id: str | None = None
    channel_id: str | None = None
    persona: Persona | None = None
    speaker: Participant | None = None
    participants: tuple[Participant, ...] = ()
    message: str | None = None
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """What is set about a person. One whom nobody has set anything about is minimal and consents.

    `personalised` tells, by server id, whether what is known of them is used there; a server that is missing uses it.
    """

    user_id: str
    name: str | None = None
    aliases: tuple[str, ...] = ()
    privacy: Privacy = Privacy.MINIMAL
    consents: bool = True
    personalised: Mapping[str, bool] = field(default_factory=dict)


class FactStatus(StrEnum):
    """What came of a tool call; the first five are successes."""

    SAVED = "saved"
    ALREADY_KNOWN = "already_known"
    UPDATED = "updated"
    DELETED = "deleted"
    NO_CHANGE = "no_change"

    INVALID_ARGUMENTS = "invalid_arguments"
    DISABLED = "self_teaching_disabled"
    INCOMPLETE_TURN = "incomplete_turn"
    BLANK_CONTENT = "blank_content"
    NOT_TO_REMEMBER = "not_to_remember"
    TARGET_MISSING = "target_missing"
    TARGET_AMBIGUOUS = "target_ambiguous"
    TARGET_UNKNOWN = "target_unknown"
    CONTENT_TOO_LONG = "content_too_long"
    RESERVED_LINEAGE = "reserved_lineage"
    PRIVACY_RESTRICTED = "privacy_restricted"
    LIMIT_EXCEEDED = "limit_exceeded"
    NOT_FOUND = "not_found"
    PROTECTED = "protected"
    DUPLICATE = "duplicate"
    UNAVAILABLE = "unavailable"


SUCCESSES = frozenset(
    {FactStatus.SAVED, FactStatus.ALREADY_KNOWN, FactStatus.UPDATED, FactStatus.DELETED, FactStatus.NO_CHANGE}
)


@dataclass(frozen=True, slots=True)
class FactOutcome:
    """What came of one tool call: `status` for machines, `message` a sentence that the model can act on.

    Attributes:
        id: the fact it is about; of a duplicate the one that is there.
        content: what is stored now, or was deleted.
        replaced: the dormant fact that had to make room; `restore_fact` brings it back.
        candidates: names that the target may have meant, at most 3.
    """

    status: FactStatus
    message: str
    id: FactId | None = None
    scope: FactScope | None = None
    content: str | None = None
    replaced: FactId | None = None
    candidates: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether what was asked for is so now."""
        return self.status in SUCCESSES


@dataclass(frozen=True, slots=True)
class FactNotice:
    """A committed change of a fact, for whoever wants to show it; `replaced` had to make room for it.

    `content` is what it says now, or said before it was deleted.
    """

    space: str
    action: str
    id: FactId
    scope: FactScope
    content: str
    changed_by: str
    changed_at: datetime
    replaced: FactId | None = None


class Notifier(Protocol):
    """Who is told of changes, once they are committed. What it raises, or is late with, is logged and nothing else."""

    def notify(self, notice: FactNotice) -> Awaitable[None]:
        """Hears of one change."""

    def close(self) -> Awaitable[None]:
        """Ends what is under way; safe to repeat."""


class PrivacyLookup(Protocol):
    """A host's own answer to whether an assistant may learn of a person by itself; asked besides what is set here.

    What it raises, or is late with, counts as no.
    """

    def __call__(self, user_id: str) -> Awaitable[tuple[Privacy, bool]]:
        """The privacy level and whether the person consents."""


__all__ = [
    "EVERY_LINEAGE",
    "FIRST_LINEAGE",
    "SUCCESSES",
    "Fact",
    "FactChange",
    "FactId",
    "FactKind",
    "FactNotice",
    "FactOutcome",
    "FactScope",
    "FactStage",
    "FactStatus",
    "ListedFact",
    "Notifier",
    "Participant",
    "Person",
    "Persona",
    "Privacy",
    "PrivacyLookup",
    "TurnState",
]
