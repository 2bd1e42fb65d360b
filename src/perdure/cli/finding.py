"""What one check of `perdure doctor` found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found, and what to do about it."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    advice: str | None = None
