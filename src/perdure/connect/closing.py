"""What all sources of mails and events share: the end of a `with` block closes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType


class Closing(ABC):
    """A source that may stand in a `with` statement."""

    @abstractmethod
    def close(self) -> None:
        """Let go of file or connection; safe to repeat."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
