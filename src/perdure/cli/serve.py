"""`perdure serve`: REST, MCP and the proxy, in one process."""

from __future__ import annotations

import gc
import sys

import click

from perdure.cli.call import Call, common, run_async
from perdure.cli.printing import print_json, tell
from perdure.errors import ConfigurationError

PORT = 8377


@click.command(short_help="Serve REST, MCP and the proxy over HTTP.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: any that is free.")
@click.option("--worker/--no-worker", default=True, help="Run the heartbeat in this process, or not. [default: run it]")
@common
def serve(call: Call, *, host: str, port: int, worker: bool) -> int:
    """Serve all spaces over HTTP until it is stopped with Ctrl-C or SIGTERM.

    REST is under /v1, its description at /docs and /openapi.json; docs/server.md tells more. Addresses that others can
    reach need keys first: `perdure keys create`.
    """
    if call.space_given:
        raise click.UsageError("The server serves every space. A key can be limited to some: `perdure keys create`.")
    try:
        import fastapi  # noqa: F401, PLC0415 - an extra
        import uvicorn  # noqa: F401, PLC0415
    except ImportError:
        raise ConfigurationError(
            "The server needs packages that are not installed.", hint="Run: pip install 'perdure[server]'"
        ) from None
    from perdure.memory import Memory  # noqa: PLC0415 - the driver
    from perdure.serve.app import create_app  # noqa: PLC0415
    from perdure.serve.logs import json_logs  # noqa: PLC0415
    from perdure.serve.running import run  # noqa: PLC0415
    from perdure.settings import load_settings  # noqa: PLC0415

    def ready(address: str) -> None:
        if call.as_json:
            print_json({"serving": address})
            sys.stdout.flush()
        tell(f"Serving on {address} (documentation: {address}/docs). Ctrl-C stops it.")

    app = create_app(lambda: Memory.open(data_dir=call.data_dir, worker=worker, progress=tell))

    async def work() -> None:
        if load_settings().log_format == "json":
            json_logs()
        await run(app, host, port, ready)

    run_async(work())
    # All is closed; looking through what is left for cycles would take a second of the five there are to end in.
    gc.freeze()
    tell("Stopped.")
    return 0
