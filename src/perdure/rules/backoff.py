"""How long to wait before another try."""

from __future__ import annotations

FIRST_S = 5.0
LONGEST_S = 600.0
SPREAD = 0.5


def retry_delay_s(attempts: int, jitter: float) -> float:
    """Seconds to wait after the `attempts`-th failure: 5, 10, 20, … at most 600, spread by ±50 %.

    Args:
        attempts: failures so far, at least 1.
        jitter: 0..1, drawn by the caller; 0.5 is the middle.
    """
    middle = min(LONGEST_S, FIRST_S * 2.0 ** (min(attempts, 20) - 1))
    return float(middle * (1 - SPREAD + 2 * SPREAD * jitter))
