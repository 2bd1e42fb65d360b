"""Mails from a mailbox over IMAP: read only, oldest first, from a checkpoint on."""

from __future__ import annotations

import contextlib
import errno
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from perdure.connect.closing import Closing
from perdure.connect.imap_account import BROKEN, REFUSED, ImapAccount, connect, hang_up, said, uid_validity, unavailable
from perdure.connect.imap_fetch import Fetched, FetchRefused, fetch, waiting
from perdure.connect.mail import read_mail
from perdure.connect.mail_files import short_name
from perdure.errors import InvalidInput, SourceUnavailable
from perdure.types import SourceBatch, SourceItem

if TYPE_CHECKING:
    from imap_tools import BaseMailBox

BATCH_ITEMS: Final = 50

RETRY_AFTER_S: Final = (1.0, 4.0, 10.0)
"""Pauses before connecting again when a connection broke; a batch that arrives begins the count anew."""

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_Result = TypeVar("_Result")


class ImapMailbox(Closing):
    """A folder of a mailbox, read oldest first until nothing is left that the checkpoint hasn't seen (`ItemSource`).

    Read only: the folder is opened with EXAMINE, and nothing becomes "seen". Mail that arrives meanwhile is read, too.
    A broken connection is made anew, and reading goes on behind the last batch. When the server has renumbered the
    folder (UIDVALIDITY), reading begins anew; the ids of mails keep them from coming in twice. Mails that can't be
    read are in `refused` of their batch. `notes` are for a person to see.
    """

    def __init__(
        self, account: ImapAccount, *, since: date | None = None, pause: Callable[[float], None] = time.sleep
    ) -> None:
        """`since` leaves out what the server got before that day."""
        self.notes: list[str] = []
        self._account = account
        self._first = since
        self._since = f"{since.day}-{_MONTHS[since.month - 1]}-{since.year}" if since else None
        self._pause = pause
        self._mailbox: BaseMailBox | None = None
        self._validity: int | None = None
        self._last = 0
        self._busy = self._closed = False

    @property
    def name(self) -> str:
        """`imap:user@host/folder`."""
        return short_name(f"imap:{self._account.user}@{self._account.host}/{self._account.folder}")

    def batches(self, checkpoint: Mapping[str, object] | None = None, *, now: datetime) -> Iterator[SourceBatch]:
        """What came after `checkpoint`, in batches of at most 50; `now` is not used. Blocks: run it in a thread.

        Raises while iterating:
            SourceUnavailable: the server can't be reached, or stopped answering; go on later from the last checkpoint.
            ConfigurationError: it refuses user and password, its certificate isn't trusted, or it doesn't encrypt.
            InvalidInput: there is no such folder.
        """
        self.close()
        self._closed = False
        self._validity, self._last = _place(checkpoint, self._account.folder, self._first)
        try:
            while uids := self._retried(lambda mailbox: waiting(mailbox, self._last, self._since)):
                yield from self._numbered(uids)
        finally:
            self.close()

    def close(self) -> None:
        """End the connection; safe to repeat, and from another thread while a batch is being read."""
        self._closed = True
        mailbox = self._mailbox
        if mailbox is None:
            return
        if self._busy:  # whoever reads finds the connection broken, and hangs up
            with contextlib.suppress(OSError):
                mailbox.client.sock.shutdown(socket.SHUT_RDWR)
            return
        self._mailbox = None
        try:
            mailbox.logout()
        except (*BROKEN, *REFUSED):
            hang_up(mailbox)

    def _numbered(self, uids: list[int]) -> Iterator[SourceBatch]:
        validity = self._validity
        for start in range(0, len(uids), BATCH_ITEMS):
            chunk = uids[start : start + BATCH_ITEMS]
            mails = self._retried(partial(self._mails, uids=chunk))
            if self._validity != validity:
                return  # renumbered while the connection was broken: these numbers name other mails now
            self._last = chunk[-1]
            yield self._batch(mails)

    def _batch(self, mails: Mapping[int, Fetched | None]) -> SourceBatch:
        items: list[SourceItem] = []
        refused: list[InvalidInput] = []
        for uid, mail in mails.items():
            if mail is None:
                refused.append(InvalidInput("mail", f"UID {uid}", "the server can't hand it out"))
                continue
            try:
                item = read_mail(mail.data, received_at=mail.received_at)
            except InvalidInput as error:
                refused.append(error)
            else:
                items.append(replace(item, metadata={**item.metadata, "folder": self._account.folder}))
        place = {
            "folder": self._account.folder,
            "uidvalidity": self._validity,
            "last_uid": self._last,
            "since": self._first.isoformat() if self._first else None,
        }
        return SourceBatch(tuple(items), place, tuple(refused))

    def _mails(self, mailbox: BaseMailBox, uids: list[int]) -> dict[int, Fetched | None]:
        """Each message that is there; None for one that the server refuses to hand out while it does others."""
        try:
            found = fetch(mailbox, uids)
        except FetchRefused:
            return self._one_by_one(mailbox, uids)
        return {uid: found[uid] for uid in uids if uid in found}

    def _one_by_one(self, mailbox: BaseMailBox, uids: list[int]) -> dict[int, Fetched | None]:
        mails: dict[int, Fetched | None] = {}
        for uid in uids:
            try:
                found = fetch(mailbox, [uid])
            except FetchRefused:
                mails[uid] = None
            else:
                mails.update(found)
        if mails and not any(mails.values()):
            raise SourceUnavailable(
                f"The mail server {self._account.address} hands out none of {len(mails)} messages.",
                hint="Look into the server's log, or go on later: reading resumes where it stopped.",
            )
        return mails

    def _retried(self, action: Callable[[BaseMailBox], _Result]) -> _Result:
        """What the action gives on a working connection; one that breaks is made anew, after a pause."""
        pauses = iter(RETRY_AFTER_S if self._mailbox is not None else ())  # what never worked is told at once
        while True:
            try:
                self._busy = True
                return action(self._connected())
            except BROKEN as error:
                self._drop()
                pause = None if self._closed else next(pauses, None)
                if pause is None:
                    raise unavailable(self._account, error) from error
                self._pause(pause)
            except REFUSED as error:
                self._drop()
                raise SourceUnavailable(
                    f"The mail server {self._account.address} refuses what was asked ({said(self._account, error)}).",
                    hint="Go on later: reading resumes where it stopped.",
                ) from None
            finally:
                self._busy = False

    def _connected(self) -> BaseMailBox:
        if self._mailbox is None:
            self._mailbox = connect(self._account)
            if self._closed:
                raise ConnectionAbortedError(errno.ECONNABORTED, "it was closed meanwhile")
            validity = uid_validity(self._mailbox)
            if self._validity is not None and validity != self._validity:
                self.notes.append(f"The server has renumbered {self._account.folder}: it was read from its beginning.")
                self._last = 0
            self._validity = validity
        return self._mailbox

    def _drop(self) -> None:
        mailbox, self._mailbox = self._mailbox, None
        if mailbox is not None:
            hang_up(mailbox)


def _place(checkpoint: Mapping[str, object] | None, folder: str, since: date | None) -> tuple[int | None, int]:
    """UIDVALIDITY and last UID of a checkpoint.

    The beginning where it is of another folder, or of a reading that left out what is wanted now.
    """
    if not checkpoint or checkpoint.get("folder") != folder:
        return None, 0
    began = checkpoint.get("since")
    if isinstance(began, str) and (since is None or since.isoformat() < began):
        return None, 0
    validity, last = checkpoint.get("uidvalidity"), checkpoint.get("last_uid")
    if not isinstance(validity, int) or not isinstance(last, int):
        return None, 0
    return validity, last
