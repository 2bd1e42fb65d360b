"""ONNX Runtime reports to its maker unless told otherwise; a memory of conversations tells nobody anything."""

from __future__ import annotations

import os
from typing import Final

VARIABLE: Final = "ORT_DISABLE_TELEMETRY"


def switch_off_telemetry() -> None:
    """Call it before ONNX Runtime is imported: at its import it reads the variable, makes a device id, and connects.

    Who has set the variable themselves has decided.
    """
    os.environ.setdefault(VARIABLE, "1")
