"""Whom a name means that a model wrote: one of the participants, or the assistant itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from perdure.fact_types import FactStatus, Participant, TurnState
from perdure.ltm.refusing import refuse
from perdure.text import fold

MAX_CANDIDATES: Final = 3
"""Names that an ambiguous one may have meant (mission: 3)."""
MAX_NAMED: Final = 10
"""Participants that are named to a model which named somebody else."""
SHOWN_CHARS: Final = 80
MOST_CHARS: Final = 1000
"""Of what a model writes as a name; nobody's is that long."""
SELF: Final = "self"
"""What a model calls itself (mission)."""


@dataclass(frozen=True, slots=True)
class _Named:
    """Somebody in the turn by the names they answer to, folded; `person` is None for the assistant."""

    person: Participant | None
    label: str
    names: tuple[str, ...]

    @property
    def folded(self) -> tuple[str, ...]:
        return tuple(key for key in map(name_key, self.names) if key)


def name_key(name: str) -> str:
    """A name as it is compared: without spaces around it and one @ before it, spaces made one, folded.

    >>> name_key(" @Ada  Lovelace ")
    'ada lovelace'
    """
    return " ".join(fold(name.strip().removeprefix("@")).split())


def resolve(written: str, state: TurnState) -> Participant | None:
    """Who is meant, by what is shown of them or by an alias; None is the assistant itself.

    Somebody whose shown name it is comes before those who only have it as an alias.

    Raises:
        Refused: it may be several, of whom three are named, or nobody here is called so.
    """
    key = name_key(written[:MOST_CHARS])
    everybody = _everybody(state)
    shown = [named for named in everybody if name_key(named.label) == key]
    found = shown or [named for named in everybody if key in named.folded]
    if not key or not found:
        people = [named.label[:SHOWN_CHARS] for named in everybody if named.person is not None][:MAX_NAMED]
        names = ", ".join(map(repr, people))
        refuse(
            FactStatus.TARGET_UNKNOWN,
            f"Nobody in this conversation is called {_shown(written)}. Use the name of somebody who takes part"
            + (f": {names}." if names else "."),
        )
    if len(found) > 1:
        candidates = tuple(_telling_name(named, everybody) for named in found[:MAX_CANDIDATES])
        refuse(
            FactStatus.TARGET_AMBIGUOUS,
            f"{_shown(written)} may be several: {', '.join(map(repr, candidates))}. Ask who is meant.",
            candidates=candidates,
        )
    return found[0].person


def _shown(written: str) -> str:
    return repr(written.strip()[:SHOWN_CHARS])


def _everybody(state: TurnState) -> Sequence[_Named]:
    people = [_Named(person, person.name, (person.name, *person.aliases)) for person in state.participants]
    if state.persona is None:
        return people
    bot = state.persona
    return [*people, _Named(None, bot.name, (bot.name, *bot.aliases, SELF))]


def _telling_name(named: _Named, everybody: Iterable[_Named]) -> str:
    """A name that nobody else in the conversation has, if there is one."""
    others = {key for other in everybody if other is not named for key in other.folded}
    return next((name for name in named.names if name_key(name) and name_key(name) not in others), named.label)
