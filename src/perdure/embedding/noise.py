"""How near a memory must be to a query before it says more about it than small talk does.

No fixed cosine separates a question from "ok thanks": a model puts short general phrases near everything, and each
language at another height. What does separate them is the query's own cosine to the middle of small talk in many
languages (figures in docs/embedding.md).
"""

from __future__ import annotations

import asyncio

import numpy as np

from perdure.embedding.port import Embedder, Matrix
from perdure.errors import PerdureError

SMALL_TALK = (
    "Hi, how are you?",
    "OK, thanks a lot!",
    "See you tomorrow.",
    "Haha, sounds good.",
    "What do you think?",
    "Hallo, wie geht es dir?",
    "Alles klar, danke!",
    "Hola, ¿qué tal?",
    "Vale, muchas gracias.",
    "你好，最近怎么样？",
    "好的，谢谢！",
    "Привет, как дела?",
    "Хорошо, спасибо!",
    "สวัสดี สบายดีไหม",
    "โอเค ขอบคุณมาก",
)


class NoiseLevel:
    """The noise level of one embedder's queries. Small talk is embedded once, at first use."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._middle: Matrix | None = None
        self._lock = asyncio.Lock()

    async def of(self, query: Matrix) -> float:
        """The cosine to `query` (a unit vector) above which a memory may be injected.

        For a family without a calibration it is small talk's own cosine. Falls back on the family's fixed level, and
        then on none, when small talk cannot be embedded now.
        """
        calibration = self._embedder.calibration
        try:
            small_talk = float(query @ await self._small_talk())
        except PerdureError:
            return calibration.noise_level if calibration else -1.0
        return calibration.noise_beside(small_talk) if calibration else small_talk

    async def _small_talk(self) -> Matrix:
        async with self._lock:
            if self._middle is None:
                middle = (await self._embedder.embed(SMALL_TALK, "document")).mean(0)
                self._middle = np.asarray(middle / np.linalg.norm(middle), np.float32)
            return self._middle
