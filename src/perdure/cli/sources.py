"""`perdure mail` and `perdure calendar`: a mailbox or a calendar on a server, read from where the last run stopped."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

from perdure import door
from perdure.cli.call import Call, audience_option, common
from perdure.cli.items import import_source
from perdure.cli.windows import NOTHING_INSIDE, calendar_options, window_options
from perdure.errors import ConfigurationError

MAIL_PASSWORD: Final = "PERDURE_MAIL_PASSWORD"  # noqa: S105 - the name of the variable
CALENDAR_PASSWORD: Final = "PERDURE_CALENDAR_PASSWORD"  # noqa: S105


@click.command(short_help="Read a mailbox over IMAP.")
@click.argument("host")
@click.option("--user", required=True, metavar="NAME", help="Who logs in.")
@click.option("--folder", default="INBOX", show_default=True, metavar="NAME", help="Which folder is read.")
@click.option(
    "--security",
    type=click.Choice(["ssl", "starttls", "none"]),
    default="ssl",
    show_default=True,
    help="none only to this machine.",
)
@click.option("--port", type=int, help="[default: 993 with ssl, else 143]")
@click.option("--since", metavar="DATE", help="Leave out what the server got before this day.")
@click.option("--ca-file", type=click.Path(path_type=Path), help="Certificate authority of a server that has its own.")
@audience_option
@common
def mail(
    call: Call,
    *,
    host: str,
    user: str,
    folder: str,
    security: str,
    port: int | None,
    since: str | None,
    ca_file: Path | None,
    audience: str | None,
) -> int:
    """Read the mailbox of NAME on HOST, from where the last run stopped; nothing in it is changed, not even "seen".

    The password comes from PERDURE_MAIL_PASSWORD, or is asked for. Each mail comes in once, however often this runs.
    """
    from perdure.connect import ImapAccount, ImapMailbox  # noqa: PLC0415 - loads the readers

    first = door.optional_time(since, "since")
    account = ImapAccount(
        host,
        user,
        _password(MAIL_PASSWORD, f"Password of {user} on {host}"),
        folder=folder,
        security=security,  # type: ignore[arg-type]  # click has checked it
        port=port,
        ca_file=ca_file,
    )
    source = ImapMailbox(account, since=first.date() if first else None)
    return import_source(call, source, f"{user}@{host} {folder}", audience)


@click.command(short_help="Read a calendar: CalDAV, or a published .ics address.")
@click.argument("url")
@click.option("--user", metavar="NAME", help="Who logs in, with the password of PERDURE_CALENDAR_PASSWORD.")
@click.option("--zone", default="UTC", show_default=True, metavar="ZONE", help="Zone of whole days and floating times.")
@window_options
@click.option("--ics", is_flag=True, help="URL is an .ics file, whatever its name. [default: if it ends so]")
@audience_option
@common
def calendar(
    call: Call,
    *,
    url: str,
    user: str | None,
    zone: str,
    past: int,
    ahead: int,
    ics: bool,
    audience: str | None,
) -> int:
    """Read the events of a CalDAV server, or of an .ics address; only reading requests are sent.

    Each event comes in once; a changed one replaces what was kept of it, a cancelled or deleted one closes it.
    """
    from perdure.connect import CalDav, IcsUrl  # noqa: PLC0415 - loads the readers

    options = calendar_options(zone, past, ahead)
    password = None if user is None else _password(CALENDAR_PASSWORD, f"Password of {user}")
    published = ics or url.partition("?")[0].lower().endswith(".ics")
    source = (IcsUrl if published else CalDav)(url, options, username=user, password=password)
    # Not the address: the path of a private calendar is its secret, and it may hold a password.
    return import_source(call, source, source.name, audience, advice=NOTHING_INSIDE)


def _password(variable: str, question: str) -> str:
    """From the environment, or asked for where there is somebody to ask; never an argument, which others can read."""
    found = os.environ.get(variable)
    if found:
        return found
    if not sys.stdin.isatty():
        raise ConfigurationError(f"There is no password in {variable}, and nobody to ask.", hint=f"Set {variable}.")
    asked: str = click.prompt(question, hide_input=True, err=True)
    return asked
