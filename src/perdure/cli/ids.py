"""Ids of memories as people write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure import door
from perdure.errors import NotFound

if TYPE_CHECKING:
    from perdure.cli.call import Call
    from perdure.space import Space
    from perdure.types import StoredMemory


def memory_id(written: str) -> int:
    """The id of `493` or `#493`, as it is printed. Raises InvalidInput."""
    return door.require_id(written.removeprefix("#"))


async def called_for(call: Call, space: Space, written: str) -> StoredMemory:
    """The memory with that id. Raises NotFound with the hint that it may be in another space."""
    try:
        return await space.get(memory_id(written))
    except NotFound as error:
        elsewhere = f"This looked in the space {call.space_name!r}; --space NAME looks in another one."
        hint = f"{error.hint} {elsewhere}" if error.hint else elsewhere
        raise NotFound(error.message, hint=hint) from error
