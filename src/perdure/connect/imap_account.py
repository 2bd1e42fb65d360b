"""An IMAP account, and how a connection to it is made: what can go wrong there, in words that say what to do."""

from __future__ import annotations

import contextlib
import errno
import imaplib
import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from imap_tools import MailBox, MailBoxUnencrypted
from imap_tools.errors import ImapToolsError, MailboxFolderSelectError, UnexpectedCommandStatusError

from perdure.connect.mail_text import on_one_line
from perdure.errors import ConfigurationError, InvalidInput, PerdureError, SourceUnavailable
from perdure.text import truncate_chars

if TYPE_CHECKING:
    from imap_tools import BaseMailBox

Security = Literal["ssl", "starttls", "none"]

BROKEN: Final = (OSError, EOFError, imaplib.IMAP4.abort)
"""What a connection raises that is gone, or doesn't answer in time."""

REFUSED: Final = (ImapToolsError, imaplib.IMAP4.error)
"""What a server's NO and BAD become."""

MAX_TIMEOUT_S: Final = 3600.0

_PORTS: Final[Mapping[str, int]] = {"ssl": 993, "starttls": 143, "none": 143}
_LAST_PORT: Final = 65_535
_FOLDERS_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class ImapAccount:
    """Where a mailbox is and who reads it.

    `security` is `ssl` (port 993), `starttls` (port 143) or, to the own machine only, `none`. `timeout_s` bounds each
    wait for the server. `ca_file` names the certificate authority of a server that has its own. The password stands in
    no message, log or repr.
    """

    host: str
    user: str
    password: str = field(repr=False)
    folder: str = "INBOX"
    security: Security = "ssl"
    port: int | None = None
    timeout_s: float = 60.0
    ca_file: Path | None = None

    def __post_init__(self) -> None:
        """Raises InvalidInput for what no server takes, ConfigurationError where the password would go in the clear."""
        for name in ("host", "user", "folder"):
            value = getattr(self, name)
            if not value or not value.isprintable():
                raise InvalidInput(name, value, "it must be one line of visible characters")
        if not self.password or any(letter in self.password for letter in "\0\r\n"):
            raise InvalidInput("password", "…", "it must not be empty, nor hold a line end")
        if self.security not in _PORTS:
            raise InvalidInput("security", self.security, f"it must be one of {', '.join(_PORTS)}")
        if not 0 < self.timeout_s <= MAX_TIMEOUT_S:
            raise InvalidInput("timeout_s", self.timeout_s, f"it has to lie between 0 and {MAX_TIMEOUT_S:.0f} seconds")
        if self.port is not None and not 0 < self.port <= _LAST_PORT:
            raise InvalidInput("port", self.port, f"it has to lie between 1 and {_LAST_PORT}")
        if self.ca_file is not None and not self.ca_file.is_file():
            raise InvalidInput("ca_file", str(self.ca_file), "there is no such file")
        if self.security == "none" and not _is_own_machine(self.host):
            raise ConfigurationError(
                f"The password would go unencrypted to {self.host}.",
                hint="Use security ssl or starttls; none is for a server on this machine.",
            )

    @property
    def address(self) -> str:
        """Host and port, as errors name them."""
        return f"{self.host}:{self.port or _PORTS[self.security]}"


def connect(account: ImapAccount) -> BaseMailBox:
    """A connection, logged in, with the folder open for reading only (EXAMINE).

    Raises OSError where the server can't be reached, and PerdureErrors for what it refuses.
    """
    mailbox = _reach(account)
    try:
        _log_in(mailbox, account)
        _open_folder(mailbox, account)
    except BaseException:
        hang_up(mailbox)
        raise
    return mailbox


def hang_up(mailbox: BaseMailBox) -> None:
    """Close the connection without a word, whatever state it is in."""
    with contextlib.suppress(OSError):
        mailbox.client.shutdown()


def uid_validity(mailbox: BaseMailBox) -> int:
    """The number under which the folder's UIDs hold; 0 if the server names none."""
    found = mailbox.client.untagged_responses.get("UIDVALIDITY") or [b"0"]
    number = found[-1]
    return int(number) if isinstance(number, bytes) else 0


def unavailable(account: ImapAccount, error: BaseException) -> PerdureError:
    """What to tell of a connection that failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return ConfigurationError(
            f"The certificate of {account.address} isn't trusted ({error.verify_message}).",
            hint="Check the host's name; if the server has an authority of its own, name its file as ca_file.",
        )
    if isinstance(error, ssl.SSLError):
        return ConfigurationError(
            f"{account.address} doesn't speak TLS as expected with security {account.security} ({error.reason}).",
            hint="Port 993 takes ssl, port 143 starttls.",
        )
    if isinstance(error, TimeoutError):
        message = f"The mail server {account.address} did not answer within {account.timeout_s:g} s."
    else:
        reason = getattr(error, "strerror", None) or said(account, error)
        message = f"The mail server {account.address} can't be reached, or broke off ({reason})."
    return SourceUnavailable(message, hint="Check host and port, or go on later: reading resumes where it stopped.")


def said(account: ImapAccount, error: BaseException) -> str:
    """What a server answered, shortened, and without the password should it echo it."""
    answer = ""
    if isinstance(error, UnexpectedCommandStatusError):
        answer = " ".join(_readable(part) for part in error.command_result[1] or ())
    elif error.args:
        answer = _readable(error.args[0])
    return truncate_chars(on_one_line(answer).replace(account.password, "…"), 200) or "no reason given"


def _readable(part: object) -> str:
    return part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part)


def _is_own_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.casefold() == "localhost"


def _reach(account: ImapAccount) -> BaseMailBox:
    port = account.port or _PORTS[account.security]
    if account.security == "none":
        return MailBoxUnencrypted(account.host, port, timeout=account.timeout_s)
    try:
        context = ssl.create_default_context(cafile=account.ca_file)
    except ssl.SSLError as error:
        raise InvalidInput("ca_file", str(account.ca_file), "it holds no certificate (PEM)") from error
    if account.security == "ssl":
        return MailBox(account.host, port, timeout=account.timeout_s, ssl_context=context)
    mailbox = MailBoxUnencrypted(account.host, port, timeout=account.timeout_s)
    if "STARTTLS" not in mailbox.client.capabilities:
        hang_up(mailbox)
        raise ConfigurationError(
            f"{account.address} offers no encryption by STARTTLS.", hint="Try security ssl, usually on port 993."
        )
    try:
        mailbox.client.starttls(context)
    except BaseException:
        hang_up(mailbox)
        raise
    return mailbox


def _log_in(mailbox: BaseMailBox, account: ImapAccount) -> None:
    plain = account.user.isascii() and account.password.isascii()
    try:
        (mailbox.login if plain else mailbox.login_utf8)(account.user, account.password, initial_folder=None)
    except BROKEN as error:  # `from None`: errors of the library may carry the command, and so the password
        if isinstance(error, TimeoutError):
            raise TimeoutError from None
        raise ConnectionAbortedError(errno.ECONNABORTED, "it broke off while logging in") from None
    except REFUSED as error:
        answer = said(account, error)
        if "[UNAVAILABLE]" in answer.upper():
            raise SourceUnavailable(
                f"The mail server {account.address} can't check the password now ({answer}).", hint="Go on later."
            ) from None
        raise ConfigurationError(
            f"{account.address} refuses to log {account.user} in ({answer}).",
            hint="Check user and password; many providers want an app password made in the account's settings.",
        ) from None


def _open_folder(mailbox: BaseMailBox, account: ImapAccount) -> None:
    try:
        mailbox.folder.set(account.folder, readonly=True)
    except MailboxFolderSelectError:
        names = [folder.name for folder in mailbox.folder.list() if "\\Noselect" not in folder.flags]
        names.sort(key=lambda name: (name.upper() != "INBOX", name))
        more = f" and {len(names) - _FOLDERS_SHOWN} more" if len(names) > _FOLDERS_SHOWN else ""
        shown = ", ".join(truncate_chars(on_one_line(name), 60) for name in names[:_FOLDERS_SHOWN])
        raise InvalidInput("folder", account.folder, f"the account has the folders {shown}{more}") from None
