"""How near a memory must be to a query before it says more about it than small talk does.

No fixed cosine separates a question from "ok thanks": a model puts short general phrases near everything, and each
language at another height. What does separate them is the query's own cosine to the middle of small talk in many
languages (figures in docs/embedding.md).
"""

from __future__ import annotations

import asyncio
import logging

import numpy as np

from perdure.embedding.port import Embedder, Matrix
from perdure.errors import without_words

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


log = logging.getLogger("perdure.embedding")


class NoiseLevel:
    """The noise level of one embedder's queries. Small talk is embedded once, beside the turns and never inside one."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._middle: Matrix | None = None
        self._loading: asyncio.Task[None] | None = None

    def of(self, query: Matrix) -> float:
        """The cosine to `query` (a unit vector) above which a memory may be injected. Waits for nothing.

        For a family without a calibration it is small talk's own cosine. Until small talk is embedded, which the first
        call starts, it is the family's fixed level, or none for a family without a calibration.
        """
        calibration = self._embedder.calibration
        if self._middle is None:
            self._start()
            return calibration.noise_level if calibration else -1.0
        small_talk = float(query @ self._middle)
        return calibration.noise_beside(small_talk) if calibration else small_talk

    async def load(self) -> None:
        """Waits until small talk is embedded, or has failed to be; the next use then tries again."""
        if self._middle is None:
            await asyncio.shield(self._start())

    async def close(self) -> None:
        """Ends what is under way."""
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.wait({self._loading}, timeout=1)

    def _start(self) -> asyncio.Task[None]:
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._embed(), name="perdure-small-talk")
        return self._loading

    async def _embed(self) -> None:
        try:
            middle = (await self._embedder.embed(SMALL_TALK, "document")).mean(0)
        except Exception as error:
            log.info("small talk could not be embedded: %s", without_words(error))
            return
        self._middle = np.asarray(middle / np.linalg.norm(middle), np.float32)
