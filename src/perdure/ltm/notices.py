"""Who is told of a change of a fact: a function of the host, the log, an address. None of them can fail a write."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from perdure.errors import ConfigurationError, without_words
from perdure.fact_types import FactNotice, Notifier
from perdure.remote import address_parts, bearer, usable_key
from perdure.settings import Settings

if TYPE_CHECKING:
    import httpx

MOST_WAITING: Final = 1000
"""Notices that wait for a server which is down or slow; more are let go, and counted in the log."""

_log = logging.getLogger("perdure.facts")


class CallbackNotifier:
    """Calls a function of the host: a coroutine function on the event loop, any other in a thread."""

    def __init__(self, call: Callable[[FactNotice], object]) -> None:
        self._call = call

    async def notify(self, notice: FactNotice) -> None:
        if inspect.iscoroutinefunction(self._call):
            await self._call(notice)
        else:
            await asyncio.to_thread(self._call, notice)

    async def close(self) -> None:
        """Nothing is under way between two calls."""


class LogNotifier:
    """A line for each change, which holds no word of it: the action, the id, and what had to make room."""

    async def notify(self, notice: FactNotice) -> None:
        replaced = f", in place of {notice.replaced}" if notice.replaced else ""
        _log.info("fact %s was %s%s", notice.id, notice.action, replaced)

    async def close(self) -> None:
        """A log isn't closed here."""


class WebhookNotifier:
    """Posts each change as JSON to an address, one after the other in their order; nobody waits for it.

    Times are in seconds; an address that refuses or is late is logged, and the notice is let go.
    """

    def __init__(self, url: str, key: str | None, timeout_s: float) -> None:
        self._url = url
        self._key = key
        self._timeout_s = timeout_s
        self._waiting: asyncio.Queue[FactNotice] | None = None
        self._posting: asyncio.Task[None] | None = None

    async def notify(self, notice: FactNotice) -> None:
        if self._waiting is None:
            self._waiting = asyncio.Queue(MOST_WAITING)
            self._posting = asyncio.create_task(self._post_all(self._waiting), name="perdure-notices")
        try:
            self._waiting.put_nowait(notice)
        except asyncio.QueueFull:
            _log.warning("A notice of %s %s was let go: too many wait for the webhook.", notice.action, notice.id)

    async def close(self) -> None:
        """Waits for what is under way as long as one notice may take, and lets the rest go."""
        waiting, self._waiting = self._waiting, None
        posting, self._posting = self._posting, None
        if waiting is None or posting is None:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(waiting.join(), self._timeout_s)
        posting.cancel()
        await asyncio.wait([posting])

    async def _post_all(self, waiting: asyncio.Queue[FactNotice]) -> None:
        import httpx  # noqa: PLC0415 - half a megabyte that few need

        async with httpx.AsyncClient(timeout=self._timeout_s, headers=bearer(self._key)) as client:
            while True:
                notice = await waiting.get()
                try:
                    await self._post(client, notice)
                except Exception as error:
                    _log.warning(
                        "A notice of %s %s was not taken by the webhook: %s",
                        notice.action,
                        notice.id,
                        without_words(error),
                    )
                finally:
                    waiting.task_done()

    async def _post(self, client: httpx.AsyncClient, notice: FactNotice) -> None:
        async with asyncio.timeout(self._timeout_s):
            response = await client.post(self._url, json=notice_data(notice))
        response.raise_for_status()


class _All:
    """Several at once; one that fails keeps nothing from the others."""

    def __init__(self, notifiers: Sequence[Notifier]) -> None:
        self._notifiers = notifiers

    async def notify(self, notice: FactNotice) -> None:
        results = await asyncio.gather(*(each.notify(notice) for each in self._notifiers), return_exceptions=True)
        for failed in results:
            if isinstance(failed, BaseException):
                raise failed

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in self._notifiers), return_exceptions=True)


def open_notifier(settings: Settings, own: Notifier | Callable[[FactNotice], object] | None) -> Notifier | None:
    """Whom the settings name, and the host's own; None where nobody wants to know.

    Raises:
        ConfigurationError: the address, its key or the host's own can't be used.
    """
    found: list[Notifier] = []
    if own is not None:
        found.append(_own(own))
    if settings.notice_log:
        found.append(LogNotifier())
    if settings.notice_url is not None:
        if address_parts(settings.notice_url) is None:
            raise ConfigurationError("PERDURE_NOTICE_URL is no http or https address.")
        given = settings.notice_key.get_secret_value() if settings.notice_key else None
        key = usable_key(given, "PERDURE_NOTICE_KEY")
        found.append(WebhookNotifier(settings.notice_url, key, settings.notice_timeout_s))
    return _All(found) if len(found) > 1 else found[0] if found else None


def _own(own: Notifier | Callable[[FactNotice], object]) -> Notifier:
    if callable(own):
        return CallbackNotifier(own)
    if not (hasattr(own, "notify") and hasattr(own, "close")):
        raise ConfigurationError(
            f"notifier is a {type(own).__name__}, which is neither a function nor a notifier.",
            hint="A notifier has `notify(notice)` and `close()`.",
        )
    return own


def notice_data(notice: FactNotice) -> dict[str, object]:
    """A notice as JSON."""
    return {
        "space": notice.space,
        "action": notice.action,
        "id": str(notice.id),
        "scope": {
            "kind": notice.scope.kind.value,
            "owner": notice.scope.owner,
            "lineage": notice.scope.lineage,
        },
        "content": notice.content,
        "changed_by": notice.changed_by,
        "changed_at": notice.changed_at.isoformat(),
        "replaced": str(notice.replaced) if notice.replaced else None,
    }
