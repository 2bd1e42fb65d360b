"""What every pipeline works with, opened once by `Memory`."""

from __future__ import annotations

from dataclasses import dataclass

from perdure.embedding import Embedder
from perdure.errors import FamilyMismatch
from perdure.settings import Settings
from perdure.store.database import Database
from perdure.store.families import StoredFamily
from perdure.store.spaces import SpaceRow, SpaceState


@dataclass(frozen=True, slots=True)
class Resources:
    """Database, embedder, the embedder's family as registered in the database, and the settings."""

    database: Database
    embedder: Embedder
    family: StoredFamily
    settings: Settings

    def require_family(self, space: SpaceRow, state: SpaceState | None) -> None:
        """Refuses to mix embeddings: a space's memories all belong to one family.

        Raises:
            FamilyMismatch: the space was embedded by another model than the one now configured.
        """
        if state is None or state.family_id is None or state.family_id == self.family.id:
            return
        raise FamilyMismatch(
            f"Space {space.name!r} holds memories embedded by another model than {self.family.name!r}.",
            hint="Configure the model it was made with (`perdure stats` names it), or use a new space.",
        )
