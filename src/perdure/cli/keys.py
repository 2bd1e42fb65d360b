"""`perdure keys`: who may come in through `perdure serve`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import click

from perdure.cli.as_data import Data, optional_moment
from perdure.cli.call import Call, common
from perdure.cli.printing import Screen, local, moment, tell

if TYPE_CHECKING:
    from datetime import datetime

    from perdure.memory import Memory
    from perdure.store.database import Transaction
    from perdure.store.keys import ApiKey

ACTIONS: Final = ("create", "list", "rotate", "revoke")
SCOPES: Final = ("read", "write", "admin")


@dataclass(frozen=True, slots=True)
class _Listed:
    keys: tuple[ApiKey, ...]
    now: datetime


@click.command(short_help="Make, list, rotate and revoke keys for the server.")
@click.argument("action", metavar="ACTION", type=click.Choice(ACTIONS))
@click.argument("name", metavar="[NAME]", required=False)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    help="Of create: admin may also write, write may also read. [default: write]",
)
@click.option("--only", "spaces", multiple=True, metavar="SPACE", help="Of create: the key reaches no other space.")
@click.option(
    "--days", type=click.FloatRange(0, 36500, min_open=True), help="Of create: it ends by itself after these."
)
@click.option(
    "--grace",
    type=click.FloatRange(0, 2160),
    default=24.0,
    show_default=True,
    metavar="HOURS",
    help="Of rotate: so long the secret before holds, too.",
)
@common
def keys(
    call: Call,
    *,
    action: str,
    name: str | None,
    scopes: tuple[str, ...],
    spaces: tuple[str, ...],
    days: float | None,
    grace: float,
) -> None:
    """Make a key, list all, give one a new secret, or end one.

    ACTION is create NAME, list, rotate NAME or revoke NAME. A key is shown once, when it is made or rotated: only a
    hash of it is kept. A key reaches every space unless --only names some.
    """
    if action == "list":
        if name is not None:
            raise click.UsageError("keys list takes no NAME; it shows all keys.")
        _list(call)
        return
    if name is None:
        raise click.UsageError(f"keys {action} takes the NAME of a key, as `perdure keys {action} laptop`.")
    match action:
        case "create":
            _create(call, name, scopes or ("write",), spaces, days)
        case "rotate":
            _rotate(call, name, timedelta(hours=grace))
        case _:
            _revoke(call, name)


def _create(call: Call, name: str, scopes: tuple[str, ...], spaces: tuple[str, ...], days: float | None) -> None:
    async def work(memory: Memory) -> tuple[ApiKey, str]:
        end = None if days is None else await _now(memory) + timedelta(days=days)
        return await memory.create_key(name, scopes=scopes, spaces=spaces or None, expires_at=end)

    _show_secret(call, *call.run(work))


def _rotate(call: Call, name: str, grace: timedelta) -> None:
    async def work(memory: Memory) -> tuple[ApiKey, str]:
        return await memory.rotate_key(name, grace=grace)

    key, token = call.run(work)
    if key.former_until is not None:
        tell(f"The secret before holds until {local(key.former_until)}.")
    _show_secret(call, key, token)


def _show_secret(call: Call, key: ApiKey, token: str) -> None:
    tell("Keep it now: it is shown this once. Send it as `Authorization: Bearer KEY`.")
    call.answer({**_data(key), "key": token}, lambda screen: screen.line(token))


def _revoke(call: Call, name: str) -> None:
    async def work(memory: Memory) -> ApiKey:
        return await memory.revoke_key(name)

    key = call.run(work)
    call.answer(_data(key), lambda screen: screen.line(f"Key {key.name} is revoked; servers notice within 5 seconds."))


def _list(call: Call) -> None:
    async def work(memory: Memory) -> _Listed:
        return _Listed(await memory.keys(), await _now(memory))

    found = call.run(work)

    def show(screen: Screen) -> None:
        if not found.keys:
            screen.line("There is no key yet. `perdure keys create NAME` makes one.")
            return
        rows = (
            (
                key.prefix,
                key.name,
                key.state(found.now),
                " ".join(key.scopes),
                "never" if key.last_used_at is None else local(key.last_used_at),
                "never" if key.expires_at is None else local(key.expires_at),
                "all" if key.spaces is None else " ".join(key.spaces),
            )
            for key in found.keys
        )
        screen.table(["prefix", "name", "state", "scopes", "last used", "ends", "spaces"], rows)

    call.answer({"keys": [{**_data(key), "state": key.state(found.now)} for key in found.keys]}, show)


async def _now(memory: Memory) -> datetime:
    async def read(tx: Transaction) -> datetime:
        return tx.now

    return await memory.resources.database.across(read)


def _data(key: ApiKey) -> Data:
    return {
        "id": str(key.id),
        "prefix": key.prefix,
        "name": key.name,
        "scopes": list(key.scopes),
        "spaces": None if key.spaces is None else list(key.spaces),
        "created_at": moment(key.created_at),
        "expires_at": optional_moment(key.expires_at),
        "rotated_at": optional_moment(key.rotated_at),
        "former_until": optional_moment(key.former_until),
        "last_used_at": optional_moment(key.last_used_at),
        "revoked_at": optional_moment(key.revoked_at),
    }
