"""One HTTP connection of a double, while a request that came over it is answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any


class Connection:
    """One connection, while a request of it is answered."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def wait_until_gone(self) -> None:
        """Until the client hangs up; a server that is closed cancels it."""
        await self._reader.read(1)

    async def document(self, document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        await self.whole(json.dumps(document, ensure_ascii=False).encode(), status, headers)

    async def whole(
        self, content: bytes, status: int = 200, headers: Mapping[str, str] | None = None, length: int | None = None
    ) -> None:
        sent = {"Content-Type": "application/json", **(headers or {})}
        sent["Content-Length"] = str(len(content) if length is None else length)
        self._writer.write(_head(status, sent) + content)
        await self._writer.drain()

    async def stream(self, events: list[dict[str, Any]], *, ends: bool = True) -> None:
        self._writer.write(_head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}))
        for event in (*events, "[DONE]") if ends else events:
            data = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
            content = f"data: {data}\n\n".encode()
            self._writer.write(b"%x\r\n%s\r\n" % (len(content), content))
            await self._writer.drain()
        if ends:
            self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
