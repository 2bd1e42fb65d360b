"""What every handle on a space needs: the memory it belongs to, its name, and its audience."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Self, TypeVar

from perdure import door
from perdure.errors import NotFound
from perdure.resources import Resources
from perdure.store.database import SpaceTransaction
from perdure.store.spaces import SpaceRow

if TYPE_CHECKING:
    from perdure.memory import Memory

T = TypeVar("T")


class SpaceHandle:
    """A handle on one space, bound to an audience. Cheap to make; holds no connection."""

    def __init__(self, memory: Memory, name: str, audience: str | None = None) -> None:
        self._memory = memory
        self.name = door.require_key(name, "space")
        self.audience = door.optional_key(audience, "audience")

    @classmethod
    def of(cls, handle: SpaceHandle) -> Self:
        """Another kind of handle on the same space, for the same audience."""
        return cls(handle._memory, handle.name, handle.audience)

    @property
    def _resources(self) -> Resources:
        return self._memory.resources

    async def _require_space(self) -> SpaceRow:
        space = await self._memory.find_space(self.name)
        if space is None:
            raise NotFound(f"There is no space {self.name!r}.", hint="A space is made by the first save or capture.")
        return space

    async def _in(self, space: SpaceRow, work: Callable[[SpaceTransaction], Awaitable[T]]) -> T:
        return await self._resources.database.in_space(space.id, work)


async def time_zone_of(handle: SpaceHandle) -> str:
    """The zone in which the space's dates are told; that of a space that isn't there yet is UTC."""
    space = await handle._memory.find_space(handle.name)
    return space.time_zone if space else "UTC"
