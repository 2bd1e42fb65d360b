"""Any server that speaks OpenAI's embeddings protocol: llama.cpp, vLLM, TEI, Ollama, LM Studio, OpenAI itself."""

from __future__ import annotations

import asyncio
import base64
import binascii
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perdure.embedding.families import known_calibration
from perdure.embedding.port import Kind, Matrix, checked, readable
from perdure.errors import EmbeddingFailed, EmbeddingUnavailable
from perdure.remote import SHOWN_CHARS, bearer, quotes, retry_after_s
from perdure.rules.calibration import Calibration
from perdure.types import Family

if TYPE_CHECKING:
    import httpx

_OK = 200
_WORTH_REPEATING = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_REFUSED_KEY = frozenset({401, 403})
_LONGEST_BACKOFF_S = 8.0


@dataclass(frozen=True, slots=True)
class EndpointLimits:
    """How an endpoint is used. Times in seconds."""

    timeout: float = 10.0
    """For one request, from connecting to the last byte."""
    attempts: int = 4
    """Requests for one batch in all."""
    first_backoff: float = 0.5
    """Doubles with every attempt, up to 8 s, each time shortened at random by up to half."""
    longest_wait: float = 30.0
    """A server that asks for more (Retry-After) is treated as unavailable."""
    batch_texts: int = 64
    batch_characters: int = 100_000
    text_characters: int = 8000
    """Longer texts lose their end; 8192 tokens is what most served models read."""


class OpenAIEmbedder:
    """`family.model` behind `url` (such as `http://localhost:8080/v1`).

    `send_dimensions` asks the server to shorten its vectors to the family's dimensions, which only some models can.
    `chance` gives numbers in 0..1 for the jitter, `sleep` waits.
    """

    def __init__(
        self,
        url: str,
        family: Family,
        *,
        key: str | None = None,
        limits: EndpointLimits | None = None,
        send_dimensions: bool = False,
        chance: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        url = url.rstrip("/")
        self._url = url if url.endswith("/embeddings") else f"{url}/embeddings"
        self._key = key
        self._limits = limits or EndpointLimits()
        self._send_dimensions = send_dimensions
        self._chance, self._sleep = chance, sleep
        self._client: httpx.AsyncClient | None = None
        self._closed = False
        self.family = family

    @property
    def calibration(self) -> Calibration | None:
        return known_calibration(self.family)

    async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        prefix = self.family.query_prefix if kind == "query" else self.family.document_prefix
        parts = [np.empty((0, self.family.dimensions), np.float32)]
        batch: list[str] = []
        characters = 0
        for text in texts:
            # Servers refuse an empty input; a space means the same.
            given = prefix + readable(text, self._limits.text_characters) or " "
            full = len(batch) >= self._limits.batch_texts or characters + len(given) > self._limits.batch_characters
            if batch and full:
                parts.append(await self._batch(batch))
                batch, characters = [], 0
            batch.append(given)
            characters += len(given)
        if batch:
            parts.append(await self._batch(batch))
        return np.concatenate(parts)

    async def close(self) -> None:
        self._closed = True
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _batch(self, texts: list[str]) -> Matrix:
        for attempt in range(1, self._limits.attempts + 1):
            answer = await self._request(texts)
            if not isinstance(answer, _Setback):
                return self._vectors(answer, texts)
            wait = answer.wait if answer.wait is not None else self._backoff(attempt)
            if attempt == self._limits.attempts or wait > self._limits.longest_wait:
                count = f"{attempt} of {self._limits.attempts} attempts"
                raise EmbeddingUnavailable(
                    f"The embedding endpoint {self._url} {answer.reason} ({count}).",
                    hint="Check that the server runs and that the URL is right.",
                ) from answer.cause
            await self._sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _backoff(self, attempt: int) -> float:
        longest = min(_LONGEST_BACKOFF_S, self._limits.first_backoff * 2 ** (attempt - 1))
        return float(longest * (1 - 0.5 * self._chance()))

    async def _request(self, texts: list[str]) -> httpx.Response | _Setback:
        client = await self._connection()
        import httpx  # noqa: PLC0415

        body: dict[str, object] = {"model": self.family.model, "input": texts}
        if self._send_dimensions:
            body["dimensions"] = self.family.dimensions
        try:
            # httpx times the pauses between bytes; a server that drips must not hold a turn for longer either.
            async with asyncio.timeout(self._limits.timeout):
                response = await client.post(self._url, json=body)
        except (TimeoutError, httpx.TimeoutException) as error:
            return _Setback(f"did not answer within {self._limits.timeout:g} s", None, error)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise EmbeddingFailed(
                f"The embedding URL {self._url!r} cannot be used.", hint="Write it as http://host:port/v1."
            ) from error
        except httpx.HTTPError as error:
            return _Setback(f"could not be reached ({type(error).__name__})", None, error)
        if response.status_code in _WORTH_REPEATING:
            wait = retry_after_s(response.headers.get("retry-after"))
            return _Setback(f"answered HTTP {response.status_code}", wait, None)
        return response

    async def _connection(self) -> httpx.AsyncClient:
        self._require_open()
        return self._client or await self._connected()

    async def _connected(self) -> httpx.AsyncClient:
        # To load the library and its certificates takes up to a second, in which other turns go on.
        made = await asyncio.to_thread(self._made_client)
        if self._client is not None or self._closed:
            await made.aclose()
            self._require_open()
        self._client = self._client or made
        return self._client

    def _require_open(self) -> None:
        if self._closed:
            raise EmbeddingUnavailable("The embedder is closed.", hint="Open the Memory again.")

    def _made_client(self) -> httpx.AsyncClient:
        import httpx  # noqa: PLC0415

        return httpx.AsyncClient(headers=bearer(self._key), timeout=self._limits.timeout)

    def _vectors(self, response: httpx.Response, texts: list[str]) -> Matrix:
        source = f"The embedding endpoint {self._url}"
        if response.status_code != _OK:
            raise EmbeddingFailed(
                f"{source} refused: HTTP {response.status_code}{_reason(response, texts)}.",
                hint="Check the API key."
                if response.status_code in _REFUSED_KEY
                else "Check the URL and the model's name.",
            )
        try:
            items = response.json()["data"]
            found: list[Sequence[float] | np.ndarray | None] = [None] * len(texts)
            for position, item in enumerate(items):
                index = item.get("index")
                found[position if index is None else _inside(int(index), len(texts))] = _numbers(item["embedding"])
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise EmbeddingFailed(f"{source} answered with something that is not a list of embeddings.") from error
        if len(items) != len(texts):
            raise EmbeddingFailed(f"{source} answered with {len(items)} embeddings for {len(texts)} texts.")
        if any(vector is None for vector in found):
            raise EmbeddingFailed(f"{source} answered twice for one text and not at all for another.")
        return checked(found, len(texts), self.family.dimensions, source)


@dataclass(frozen=True, slots=True)
class _Setback:
    """A request that failed in a way that may pass: why, and how long the server asks to wait."""

    reason: str
    wait: float | None
    cause: BaseException | None


def _inside(index: int, count: int) -> int:
    if not 0 <= index < count:
        raise IndexError(index)
    return index


def _numbers(embedding: Any) -> Sequence[float] | np.ndarray:
    """An embedding as it came: a list of numbers, or base64 of little-endian single-precision floats."""
    if isinstance(embedding, str):
        try:
            return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
        except binascii.Error as error:
            raise ValueError("not base64") from error
    if not isinstance(embedding, list):
        raise TypeError("an embedding is a list or base64")
    # llama.cpp without pooling nests one vector per text in a list of its own.
    return embedding[0] if len(embedding) == 1 and isinstance(embedding[0], list) else embedding


def _reason(response: httpx.Response, texts: list[str]) -> str:
    """What the server says, if it can be shown."""
    try:
        error = response.json()["error"]
        message = str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError):
        return ""
    return "" if quotes(message, texts) or not message.isprintable() else f" ({message[:SHOWN_CHARS]})"
