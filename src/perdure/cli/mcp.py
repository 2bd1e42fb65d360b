"""`perdure mcp`: the memory as an MCP server over stdin and stdout."""

from __future__ import annotations

import getpass
import logging

import click

from perdure.cli.call import Call, audience_option, common, run_async
from perdure.errors import ConfigurationError


@click.command(short_help="Serve one space to an MCP client over stdin and stdout.")
@click.option("--user", default="User", show_default=True, metavar="NAME", help="How the user is called in facts.")
@click.option("--persona", default="Assistant", show_default=True, metavar="NAME", help="How the assistant is called.")
@click.option("--worker/--no-worker", default=True, help="Run the heartbeat in this process, or not. [default: run it]")
@audience_option
@common
def mcp(call: Call, *, user: str, persona: str, worker: bool, audience: str | None) -> int:
    """Serve one space to an MCP client, such as a desktop assistant or an editor, until it leaves.

    Clients start this command by themselves; docs/mcp.md has what to write into their settings. Any number of them may
    run at once and share the embedded database. `perdure serve` offers the same over HTTP, at /mcp.
    """
    if call.as_json:
        raise click.UsageError("stdout belongs to the protocol, which is JSON already.")
    try:
        from perdure.serve.mcp import serve_stdio  # noqa: PLC0415 - an extra
    except ImportError:
        raise ConfigurationError(
            "MCP needs packages that are not installed.", hint="Run: pip install 'perdure[server]'"
        ) from None
    from perdure.memory import Memory  # noqa: PLC0415 - the driver

    def progress(line: str) -> None:
        logging.getLogger(__name__).info(line)

    memory = Memory.open(data_dir=call.data_dir, worker=worker, progress=progress)
    try:
        login = getpass.getuser()
    except (KeyError, OSError):
        login = "unknown"
    run_async(serve_stdio(memory, call.space_name, audience=audience, user=user, persona=persona, login=login))
    return 0
