"""A server that scores how well texts answer a query: the route `rerank` of llama.cpp, vLLM, Jina, Cohere."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from perdure.clock import Clock
from perdure.errors import ConfigurationError, ModelFailed, ModelUnavailable
from perdure.llm.health import Health
from perdure.llm.usage import Ledger, ModelUse, estimated_tokens
from perdure.remote import address_parts, bearer, may_hold_secrets, usable_key

if TYPE_CHECKING:
    import httpx

ROLE: Final = "reranker"
"""Under which its use is counted."""

CONNECT_S: Final = 3.0
FAIR_S: Final = 0.5
"""A server that got less time than that may be well."""

PATIENCE: Final = 0.9
"""Of the time that is left, what the server gets."""

MOST_BYTES: Final = 1_000_000
_ROUTES: Final = ("/rerank", "/reranking")
_OK: Final = 200
_KEPT_BYTES: Final = 2000


class RerankEndpoint:
    """A reranker behind `url` (`http://localhost:8080/v1`, or the whole address of the route).

    Raises ConfigurationError for a URL or key that can't be one.
    """

    def __init__(self, url: str, *, clock: Clock, model: str | None = None, key: str | None = None) -> None:
        self.url = _route(url)
        self.model = model
        self._clock = clock
        self._health = Health(clock)
        self._headers = bearer(usable_key(key, "PERDURE_RERANKER_KEY"))
        self._client: httpx.AsyncClient | None = None
        self._closed = False

    async def scores(self, query: str, texts: Sequence[str], *, ledger: Ledger, seconds: float) -> list[float]:
        """How well each text answers the query, in their order; higher is better, what the numbers mean is its own.

        Raises:
            ModelUnavailable: it could not be reached in `seconds`, refused, or rests after failures.
            ModelFailed: it answered with something that is no score for each text.
        """
        permit = self._health.admit()
        if permit is None:
            raise ModelUnavailable(f"The reranker at {self.url} {self._health.resting() or 'is being tried'}.")
        start, scores = self._clock.monotonic(), None
        try:
            try:
                answer = await self._post(query, texts, seconds)
            except ModelUnavailable as error:
                if seconds >= FAIR_S:
                    self._health.failed(permit, error.message)
                raise
            except asyncio.CancelledError:
                # The caller's patience may end first where the machine is busy.
                if seconds >= FAIR_S and self._clock.monotonic() - start >= PATIENCE * seconds:
                    self._health.failed(permit, "did not answer in time")
                raise
            self._health.succeeded()
            scores = _read(answer, len(texts))
            return scores
        finally:
            self._health.end(permit)
            ledger.record(
                ModelUse(
                    call_site="rerank",
                    role=ROLE,
                    model=self.model or "",
                    ok=scores is not None,
                    prompt_tokens=sum(map(estimated_tokens, (query, *texts))),
                    completion_tokens=0,
                    latency_ms=(self._clock.monotonic() - start) * 1000,
                    live=True,
                )
            )

    async def close(self) -> None:
        """Closes its connections; asking afterwards raises ModelUnavailable."""
        self._closed = True
        if self._client is not None:
            client, self._client = self._client, None
            with suppress(RuntimeError):  # its event loop is gone, and its connections with it
                await client.aclose()

    async def _post(self, query: str, texts: Sequence[str], seconds: float) -> bytes:
        import httpx  # noqa: PLC0415

        if self._closed:
            raise ModelUnavailable("The reranker is closed.", hint="Open the Memory again.")
        if self._client is None:
            self._client = httpx.AsyncClient(headers=self._headers)
        body: dict[str, Any] = {"query": query, "documents": list(texts), "top_n": len(texts)}
        if self.model:
            body["model"] = self.model
        # Before the caller loses patience: else a server that hangs would never count as failing.
        patience = PATIENCE * seconds
        timeout = httpx.Timeout(patience, connect=min(patience, CONNECT_S))
        try:
            response = await self._client.post(self.url, json=body, timeout=timeout)
        except httpx.HTTPError as error:
            raise ModelUnavailable(
                f"The reranker at {self.url} did not answer ({type(error).__name__}).",
                hint="Is it running? PERDURE_RERANKER_URL names it.",
            ) from None
        if response.status_code != _OK:
            raise ModelUnavailable(
                f"The reranker at {self.url} refused with status {response.status_code}.",
                hint="Check PERDURE_RERANKER_URL, PERDURE_RERANKER_MODEL and PERDURE_RERANKER_KEY.",
            )
        return response.content[:MOST_BYTES]


def _route(url: str) -> str:
    address = url.strip().rstrip("/")
    parts = address_parts(address)
    if parts is None or may_hold_secrets(parts):
        raise ConfigurationError(
            "PERDURE_RERANKER_URL is no http or https address, or holds a user, a password or a query.",
            hint="Write it as http://host:port/v1; a key belongs into PERDURE_RERANKER_KEY.",
        )
    if address.endswith(_ROUTES):
        return address
    return f"{address}/rerank" if parts.path else f"{address}/v1/rerank"


def _read(answer: bytes, count: int) -> list[float]:
    """The scores in the order of the texts. Each text has exactly one, or the answer can't be used."""
    try:
        document = json.loads(answer)
        found = document if isinstance(document, list) else document.get("results", document.get("data"))
        scores = {
            int(item["index"]): float(item["relevance_score"] if "relevance_score" in item else item["score"])
            for item in found
        }
        ordered = [scores[place] for place in range(count)]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        ordered = []
    if len(ordered) != count or not all(map(isfinite, ordered)):
        raise ModelFailed(
            f"The reranker did not give a score to each of {count} texts.",
            answer=answer[:_KEPT_BYTES].decode("utf-8", "replace"),
        )
    return ordered
