"""Reading calendars over HTTP: three methods, none of which changes anything, and answers of a bounded size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import httpx

from perdure.connect.calendar_lines import MAX_CALENDAR_BYTES
from perdure.errors import InvalidInput, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

Method = Literal["GET", "PROPFIND", "REPORT"]
"""All that is ever sent to a server."""

MAX_REDIRECTS: Final = 5
TIMEOUT_S: Final = 30.0
_CHUNK: Final = 64 * 1024
_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_AGENT: Final = "perdure (calendar reader)"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said, and under which address in the end."""

    url: httpx.URL
    status: int
    headers: Mapping[str, str]
    body: bytes

    def refused(self, what: str) -> SourceUnavailable:
        """This answer as an error."""
        hint = {
            401: "Check user name and password; many providers want a password made for one app.",
            403: "The server knows the user, but doesn't let them read this.",
            404: "Check the address.",
            410: "The address is no longer in use.",
            429: "The server asks for patience; try again later.",
        }.get(self.status)
        return SourceUnavailable(f"{self.url.host} answered {self.status} to {what}.", hint=hint)


def calendar_url(value: str) -> httpx.URL:
    """The address of a calendar. Raises InvalidInput unless it is https; http is taken for this machine only."""
    text = value.strip()
    for scheme in ("webcals://", "webcal://"):
        if text[: len(scheme)].lower() == scheme:
            text = f"https://{text[len(scheme) :]}"
    limit = "it has to be an address such as https://example.org/calendar.ics, with https"
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        raise InvalidInput("url", _without_secrets(text), limit) from error
    if not url.host or not (url.scheme == "https" or (url.scheme == "http" and url.host in _LOOPBACK)):
        raise InvalidInput("url", _without_secrets(text), limit)
    return url


class Reader:
    """A client that only reads. The name and password go to the host they were given for and to its siblings."""

    def __init__(self, url: httpx.URL, *, username: str | None = None, password: str | None = None) -> None:
        self._home = url
        given = username or url.username
        self._auth = httpx.BasicAuth(given, password if password is not None else url.password) if given else None
        self._client = httpx.Client(timeout=TIMEOUT_S, headers={"User-Agent": _AGENT}, follow_redirects=False)

    def close(self) -> None:
        """Close the connections; safe to repeat."""
        self._client.close()

    def read(
        self, method: Method, url: httpx.URL, headers: Mapping[str, str] | None = None, content: bytes = b""
    ) -> Answer:
        """The answer, wherever the server sends us.

        Raises SourceUnavailable when there is none, and InvalidInput when it has more than `MAX_CALENDAR_BYTES`.
        """
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._once(method, url, headers or {}, content)
            where = answer.headers.get("location")
            if answer.status not in _MOVED or not where:
                return answer
            url = self.joined(url, where)
        raise SourceUnavailable(f"{url.host} redirects more than {MAX_REDIRECTS} times.", hint="Check the address.")

    def joined(self, base: httpx.URL, reference: str) -> httpx.URL:
        """An address that the server named. Raises SourceUnavailable when it leads from https to anything else."""
        try:
            url = base.join(reference)
        except (httpx.InvalidURL, ValueError) as error:
            raise SourceUnavailable(f"{base.host} names an address that can't be read.") from error
        if url.scheme != "https" and (url.scheme, url.host) != (self._home.scheme, self._home.host):
            raise SourceUnavailable(f"{base.host} points to an address without encryption.")
        return url

    def _once(self, method: Method, url: httpx.URL, headers: Mapping[str, str], content: bytes) -> Answer:
        auth = self._auth if self._ours(url) else None
        bare = url.copy_with(username=None, password=None)
        try:
            with self._client.stream(method, bare, headers=dict(headers), content=content, auth=auth) as response:
                body = bytearray()
                for chunk in response.iter_bytes(_CHUNK):
                    body += chunk
                    if len(body) > MAX_CALENDAR_BYTES:
                        limit = f"at most {MAX_CALENDAR_BYTES:,} bytes are read at once; narrow the window of time"
                        raise InvalidInput("calendar", bare.host, limit)
                return Answer(bare, response.status_code, response.headers, bytes(body))
        except httpx.HTTPError as error:
            raise SourceUnavailable(
                f"{bare.host} could not be read ({type(error).__name__}).",
                hint="Check address and network, or try again later.",
            ) from error

    def _ours(self, url: httpx.URL) -> bool:
        """The same server, or a sibling of its domain, as iCloud's caldav.icloud.com and p42-caldav.icloud.com are."""
        if (url.scheme, url.host, url.port) == (self._home.scheme, self._home.host, self._home.port):
            return True
        domain = self._home.host.partition(".")[2]
        sibling = "." in domain and not domain.replace(".", "").isdigit() and url.host.endswith(f".{domain}")
        return sibling and url.scheme == "https"


def _without_secrets(text: str) -> str:
    """The beginning of an address: what comes after the host may be a secret."""
    scheme, _, rest = text.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('/')[0]}" if rest else text[:20]
