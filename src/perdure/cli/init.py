"""`perdure init`: makes the embedded database, or prepares one on a server of your own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from perdure.cli.call import Call, common, run_async
from perdure.cli.called import as_called
from perdure.cli.printing import tell
from perdure.errors import ConfigurationError

if TYPE_CHECKING:
    from perdure.cli.printing import Screen
    from perdure.memory import Memory
    from perdure.store.external import Prepared

UNCHANGED: Final = "PASSWORD"


@click.command(short_help="Prepare the database: embedded, or a server of your own.")
@click.option(
    "--owner-url",
    envvar="PERDURE_DATABASE_OWNER_URL",
    metavar="URL",
    help="Prepare this PostgreSQL; a role that may create roles. [default: PERDURE_DATABASE_OWNER_URL]",
)
@click.option("--new-passwords", is_flag=True, help="With --owner-url: give existing roles new passwords.")
@common
def init(call: Call, *, owner_url: str | None, new_passwords: bool) -> None:
    """Prepare everything: database, roles, tables, and the embedding model's family. Safe to repeat.

    Without --owner-url the embedded PostgreSQL is made or updated; every other command does the same when it is first
    used. With --owner-url a database on a server of your own is prepared, and the settings to use it are printed.
    """
    if owner_url is None:
        _init_embedded(call)
    elif not owner_url.startswith(("postgresql://", "postgres://")):
        # The value may hold a password, so it isn't repeated.
        raise ConfigurationError(
            "The owner URL is not a postgresql:// URL.",
            hint="It looks like postgresql://owner:password@host:5432/database.",
        )
    else:
        _init_external(call, owner_url, new_passwords=new_passwords)


def _init_embedded(call: Call) -> None:
    from perdure.settings import load_settings  # noqa: PLC0415 - with everything that validates settings
    from perdure.store.migrate import schema_version  # noqa: PLC0415 - the driver

    if load_settings().database_url is not None:
        raise ConfigurationError(
            "PERDURE_DATABASE_URL names a server of your own, but no owner URL is given.",
            hint="Run `perdure init --owner-url URL` to prepare it, or unset PERDURE_DATABASE_URL.",
        )

    async def work(memory: Memory) -> dict[str, object]:
        server = memory.server
        assert server is not None
        return {
            "server": "embedded",
            "data_dir": str(server.data_dir),
            "postgres": server.version,
            "schema": schema_version(server.urls.owner),
            "embedder": memory.resources.family.name,
            "log": str(server.log_path),
        }

    facts = call.run(work)

    def show(screen: Screen) -> None:
        screen.line(f"Ready: PostgreSQL {facts['postgres']}, schema {facts['schema']}, embeddings {facts['embedder']}.")
        screen.line(f"Data: {facts['data_dir']} (PERDURE_DATA_DIR names another place).")
        screen.line(as_called("Next: `perdure demo`, or `perdure save TEXT`."))

    call.answer(facts, show)


def _init_external(call: Call, owner_url: str, *, new_passwords: bool) -> None:
    from perdure.store.database import require_url  # noqa: PLC0415 - the driver
    from perdure.store.external import prepare_server, serving_url  # noqa: PLC0415 - the driver
    from perdure.store.roles import APP, WORKER  # noqa: PLC0415

    require_url(owner_url, "--owner-url")

    async def work() -> tuple[Prepared, str]:
        tell("Making the roles and the tables ...")
        prepared = await prepare_server(owner_url, new_passwords=new_passwords)
        return prepared, await _register_family(owner_url)

    prepared, family = run_async(work())
    urls = {
        "PERDURE_DATABASE_URL": serving_url(owner_url, APP, prepared.app_password or UNCHANGED),
        "PERDURE_DATABASE_WORKER_URL": serving_url(owner_url, WORKER, prepared.worker_password or UNCHANGED),
    }
    kept = [role for role, made in ((APP, prepared.app_password), (WORKER, prepared.worker_password)) if made is None]
    document: dict[str, object] = {
        "server": "external",
        "migrations": list(prepared.migrations),
        "embedder": family,
        "environment": urls,
        "passwords_kept": kept,
    }

    def show(screen: Screen) -> None:
        for name, url in urls.items():
            screen.console.print(f"{name}={url}", soft_wrap=True)
        done = ", ".join(prepared.migrations) or "none were pending"
        tell(f"Prepared. Migrations: {done}. Embedding family: {family}.")
        if kept:
            tell(f"{' and '.join(kept)} existed and kept their passwords: put them in for {UNCHANGED}.")
            tell("With --new-passwords they get new ones; what uses the old ones then stops working.")
        tell("Set these two variables where Perdure runs. They hold passwords.")

    call.answer(document, show)


async def _register_family(owner_url: str) -> str:
    """Makes the configured embedder's family and its index, as only the owner may."""
    from perdure.clock import DatabaseClock  # noqa: PLC0415
    from perdure.memory import configured_embedder, register_family  # noqa: PLC0415
    from perdure.settings import load_settings  # noqa: PLC0415
    from perdure.store.database import Database, DatabaseUrls  # noqa: PLC0415

    embedder = configured_embedder(load_settings())
    try:
        # Never opened: only the owner's connection is used, whatever the passwords of the serving roles are.
        database = Database(DatabaseUrls(app=owner_url, worker=owner_url, owner=owner_url), DatabaseClock())
        return (await register_family(database, embedder)).name
    finally:
        await embedder.close()
