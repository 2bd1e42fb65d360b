"""Prompts that were handed out, kept for a while: `capture` counts what stood in them."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from perdure.clock import Clock
from perdure.context import Context
from perdure.errors import InvalidInput
from perdure.space import Space

KEPT: Final = 2048
KEPT_S: Final = 3600.0
"""How long a reply may take."""


class Prompts:
    """The latest prompts of all spaces. One that is gone costs the count of its facts, never the exchange."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, str, str | None, Context]] = OrderedDict()

    def keep(self, space: Space, context: Context) -> str:
        """The name under which `shown` finds it."""
        name = secrets.token_urlsafe(16)
        self._kept[name] = (self._clock.monotonic(), space.name, space.audience, context)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return name

    def shown(self, space: Space, given: object) -> Context | Sequence[Any] | None:
        """What a turn's prompt held: the prompt itself if it is still here, else the ids of its memories."""
        if given is None or (isinstance(given, Sequence) and not isinstance(given, str)):
            return given
        if not isinstance(given, Mapping) or not given.keys() <= {"ids", "context_id"}:
            raise InvalidInput("recall", given, "it has to be a list of ids, or an object with `context_id` and `ids`")
        name = given.get("context_id")
        if name is not None and not isinstance(name, str):
            raise InvalidInput("recall.context_id", name, "it has to be the text that `context` returned")
        ids: Sequence[Any] | None = given.get("ids")
        found = None if name is None else self._kept.get(name)
        if found is None or self._clock.monotonic() - found[0] > KEPT_S:
            return ids
        _, space_name, audience, context = found
        # What was made for somebody else isn't this turn's.
        return context if (space_name, audience) == (space.name, space.audience) else ids
