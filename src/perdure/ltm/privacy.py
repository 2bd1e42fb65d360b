"""Whether anything may be learnt of a person: asked anew for every write, and no where nobody can tell."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Final

from perdure.errors import PrivacyRestricted, without_words
from perdure.fact_types import Person, Privacy
from perdure.resources import Resources
from perdure.store.database import SpaceTransaction
from perdure.store.people import read_people
from perdure.store.spaces import SpaceRow

LOOKUP_S: Final = 2.0
"""For finding out; who has not answered by then has not agreed."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants: the stricter of what is set here and of what the host says."""

    level: Privacy
    consents: bool

    @property
    def self_taught(self) -> bool:
        """Whether an assistant may learn of them by itself."""
        return self.level is Privacy.MINIMAL and self.consents


NOTHING: Final = Wish(Privacy.FULL, consents=False)
_STRICTNESS: Final = tuple(Privacy)


async def wish_of(resources: Resources, space: SpaceRow | None, user_id: str) -> Wish:
    """What a person wants; nothing at all where one of the lookups fails or takes too long."""
    try:
        async with asyncio.timeout(LOOKUP_S):
            here = await _set_here(resources, space, user_id)
            if resources.privacy is None:
                return here
            level, consents = await resources.privacy(user_id)
            told = Privacy(level)
            return Wish(max(here.level, told, key=_STRICTNESS.index), here.consents and consents is True)
    except Exception as error:
        _log.warning("Privacy could not be looked up, so nothing is kept: %s", without_words(error))
        return NOTHING


async def require_by_hand(resources: Resources, space: SpaceRow | None, user_id: str) -> None:
    """Raises PrivacyRestricted where not even a person may keep something about this one."""
    if (await wish_of(resources, space, user_id)).level is Privacy.FULL:
        raise PrivacyRestricted(
            "Nothing may be kept about this person: their privacy level is full, or could not be looked up.",
            hint="They can change it: `space.set_person(user_id, privacy=...)`.",
        )


async def still_agrees(tx: SpaceTransaction, user_id: str) -> bool:
    """Whether an assistant may learn of a person as far as is set here by now: they may have said no meanwhile."""
    return (await _read(tx, user_id)).self_taught


async def _set_here(resources: Resources, space: SpaceRow | None, user_id: str) -> Wish:
    if space is None:
        return Wish(Privacy.MINIMAL, consents=True)
    return await resources.database.in_space(space.id, lambda tx: _read(tx, user_id), timeout_s=LOOKUP_S)


async def _read(tx: SpaceTransaction, user_id: str) -> Wish:
    return wish_set_here((await read_people(tx, [user_id]))[user_id])


def wish_set_here(person: Person) -> Wish:
    """What a person wants as far as it is set here."""
    return Wish(person.privacy, person.consents)
