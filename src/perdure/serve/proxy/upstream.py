"""The model's own server: where requests go on to, and how its answers come back unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import httpx

from perdure.errors import ConfigurationError
from perdure.remote import address_parts, bearer, usable_key
from perdure.settings import Settings

CONNECT_S: Final = 10.0
WRITE_S: Final = 60.0
_OURS: Final = frozenset({"host", "authorization", "x-api-key", "content-length", "content-type", "accept-encoding"})
"""Request headers that this side writes itself, or that are nobody's business beyond it."""
_OF_ONE_HOP: Final = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"),
        *("transfer-encoding", "upgrade", "content-length", "content-encoding", "server", "date"),
        *("cookie", "set-cookie", "forwarded", "idempotency-key"),
    }
)


class UpstreamFailed(Exception):
    """The model's server could not be reached or broke off. `status` is 502, or 504 where it took too long."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Upstream:
    """A client of the model's server; one for the life of the proxy."""

    def __init__(self, url: str, key: str | None, timeout_s: float) -> None:
        self._url = url.rstrip("/")
        self._key = key
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(timeout_s, connect=CONNECT_S, write=WRITE_S),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            follow_redirects=False,
        )

    @classmethod
    def from_settings(cls, settings: Settings) -> Upstream | None:
        """The server that the settings name; None where they name none. Raises ConfigurationError."""
        url = settings.proxy_url
        if url is None:
            return None
        if address_parts(url) is None:
            raise ConfigurationError(
                "PERDURE_PROXY_URL is no http or https address.",
                hint="It is what a client would be given as base_url, such as https://api.openai.com/v1.",
            )
        key = None if settings.proxy_key is None else settings.proxy_key.get_secret_value()
        return cls(url, usable_key(key, "PERDURE_PROXY_KEY"), settings.proxy_timeout_s)

    async def close(self) -> None:
        await self._client.aclose()

    async def send(
        self, method: str, path: str, headers: Mapping[str, str], *, own_key: str | None, json: Any = None
    ) -> httpx.Response:
        """The answer, its body unread; whoever asks closes it.

        Args:
            headers: those of the client's request; what belongs to this hop or to Perdure is left out.
            own_key: the `Authorization` of the client, where that is meant for the model and no key is set here.

        Raises:
            UpstreamFailed: no connection, or no answer in time.
        """
        sent = {name: value for name, value in headers.items() if _goes_on(name)}
        sent["accept-encoding"] = "identity"
        if self._key is not None:
            sent |= bearer(self._key)
        elif own_key is not None:
            sent["Authorization"] = own_key
        request = self._client.build_request(method, f"{self._url}{path}", headers=sent, json=json)
        try:
            return await self._client.send(request, stream=True)
        except httpx.TimeoutException as error:
            raise UpstreamFailed(504, "The model's server did not answer in time (PERDURE_PROXY_TIMEOUT_S).") from error
        except httpx.HTTPError as error:
            raise UpstreamFailed(502, "The model's server could not be reached (PERDURE_PROXY_URL).") from error


def passed_back(answer: httpx.Response) -> dict[str, str]:
    """Headers of an answer that concern the client. Which pages may read it, the model's server has no say in."""
    return {name: value for name, value in answer.headers.items() if _comes_back(name.lower())}


def _comes_back(name: str) -> bool:
    return not (name in _OF_ONE_HOP or name.startswith("access-control-"))


def _goes_on(name: str) -> bool:
    name = name.lower()
    return not (name in _OURS or name in _OF_ONE_HOP or name.startswith(("x-perdure-", "x-forwarded-", "sec-")))
