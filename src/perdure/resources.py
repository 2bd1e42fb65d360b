"""What every pipeline works with, opened once by `Memory`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perdure.embedding import Calibration, Embedder, NoiseLevel
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
    noise: NoiseLevel
    """How near a memory must be to a query to be worth injecting."""
    family_names: Mapping[int, str]
    """Names of the families that this database knows."""
    calibrations: dict[int, tuple[int, Calibration]] = field(default_factory=dict)
    """For a family without a shipped calibration: by space, the one told from so many of its memories."""

    def require_family(self, space: SpaceRow, state: SpaceState | None) -> None:
        """Refuses to mix embeddings: a space's memories all belong to one family.

        Raises:
            FamilyMismatch: the space was embedded by another model than the one now configured.
        """
        if state is None or state.family_id is None or state.family_id == self.family.id:
            return
        raise FamilyMismatch(
            f"Space {space.name!r} holds memories embedded by {self.family_names.get(state.family_id)!r},"
            f" the embedder now configured is {self.family.name!r}.",
            hint="Configure the embedder that the space was made with, or use a new space.",
        )
