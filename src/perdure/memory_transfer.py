"""Moving house: spaces as files, and spaces from files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from perdure import door, transfer
from perdure.errors import InvalidInput, NotFound
from perdure.resources import Resources
from perdure.store.spaces import SpaceRow
from perdure.transfer import Exported, Imported


class MemoryTransfer(ABC):
    """The verbs of an opened memory that write a space to a file, and make one of it."""

    @property
    @abstractmethod
    def resources(self) -> Resources: ...

    @abstractmethod
    async def find_space(self, name: str) -> SpaceRow | None: ...

    @abstractmethod
    def require_unbound(self) -> None:
        """Raises SpaceRefused for a memory that reaches some spaces only."""

    async def export_space(
        self,
        name: str,
        path: Path | str,
        *,
        vectors: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Exported:
        """Writes all that a space holds to a file, as it was at one moment: docs/export.md has the format.

        Args:
            path: of the file, compressed where it ends in .gz. One that is there is replaced once the new one is whole.
            vectors: take them along; without them whoever imports the file embeds its texts again.
            progress: gets how many rows are written, and of how many.

        Raises:
            NotFound: there is no such space. InvalidInput: the file can't be written. DatabaseUnavailable.
        """
        wanted = door.require_key(name, "space")
        space = await self.find_space(wanted)
        if space is None:
            raise NotFound(f"There is no space {wanted!r}.", hint="`perdure stats` lists the spaces.")
        with_vectors = door.require_flag(vectors, "vectors")
        return await transfer.export_space(self.resources, space, _path(path), vectors=with_vectors, progress=progress)

    async def import_space(
        self,
        path: Path | str,
        *,
        name: str | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Imported:
        """Makes a space of a file that `export_space` wrote. Ids are kept; nothing is seen of it before it is whole.

        Interrupted, call it again with the same file: it goes on where it stopped.

        Args:
            name: of the space; the one that it had if missing.
            progress: gets the step (rows, words, embedding), how much of it is done, and of how much.

        Raises:
            InvalidInput: the file is none, was cut or changed, or is of a newer Perdure; it names the line, and nothing
                is written. Conflict: there is a space of that name. EmbeddingUnavailable, EmbeddingFailed,
            DatabaseUnavailable: call it again.
        """
        self.require_unbound()
        return await transfer.import_space(self.resources, _path(path), name=name, progress=progress)


def _path(path: object) -> Path:
    if not isinstance(path, str | Path) or not str(path):
        raise InvalidInput("path", path, "it has to be the path of a file")
    return Path(path)
