"""`perdure mcp` as its clients start it: processes that speak over stdin and stdout, and share one database."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.acceptance.cli_process import COMMAND, Perdure

ENDS_IN_S = 20
HELLO = (
    b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",'
    b' "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}\n'
)


@pytest.fixture(scope="module")
def perdure(tmp_path_factory: pytest.TempPathFactory) -> Perdure:
    return Perdure(tmp_path_factory.mktemp("mcp"))


def started(perdure: Perdure, *arguments: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], "mcp", *arguments], env=dict(perdure.environment)
    )


def words(result: Any) -> str:
    return "\n".join(part.text for part in result.content)


async def test_three_clients_at_once_share_what_one_of_them_saves(perdure: Perdure) -> None:
    parameters = started(perdure, "--space", "ada")
    async with (
        Client(stdio_client(parameters)) as one,
        Client(stdio_client(parameters)) as two,
        Client(stdio_client(parameters)) as three,
    ):
        assert len((await one.list_tools()).tools) == 8
        saved = await one.call_tool("save_memory", {"text": "Ada is allergic to peanuts", "salience": 9})
        assert not saved.is_error, words(saved)
        for client in (two, three):
            assert "peanuts" in words(await client.call_tool("search_memory", {"query": "peanuts"}))
        await asyncio.gather(
            *(each.call_tool("save_memory", {"text": f"Fact {n}"}) for n, each in enumerate((two, three)))
        )
    listed = perdure.json("list", "--space", "ada")
    assert {memory["summary"] for memory in listed["memories"]} == {"Ada is allergic to peanuts", "Fact 0", "Fact 1"}
    told = perdure.json("audit", "--space", "ada")
    assert {entry["door"] for entry in told["entries"]} == {"mcp"}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM to catch")
def test_it_ends_when_its_client_leaves_and_on_sigterm(perdure: Perdure) -> None:
    for end in ("leave", "terminate"):
        process = subprocess.Popen(
            [*COMMAND, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=perdure.environment,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(HELLO)
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "perdure"
        if end == "leave":
            process.stdin.close()
            process.stdin = None
        else:
            os.kill(process.pid, signal.SIGTERM)
        out, err = process.communicate(timeout=ENDS_IN_S)
        assert process.returncode == 0, err
        assert out == b""


async def test_a_database_that_cannot_be_opened_is_told_to_the_model(tmp_path: Path) -> None:
    broken = Perdure(
        tmp_path,
        PERDURE_DATABASE_URL="postgresql://nobody:x@127.0.0.1:9/x",
        PERDURE_DATABASE_WORKER_URL="postgresql://nobody:x@127.0.0.1:9/x",
        PERDURE_DATABASE_TIMEOUT_S="1",
    )
    async with Client(stdio_client(started(broken))) as client:
        result = await client.call_tool("search_memory", {"query": "peanuts"})
    assert result.is_error
    assert "PERDURE_DATABASE_URL" in words(result)
