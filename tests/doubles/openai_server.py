"""A server that speaks OpenAI's embeddings protocol over real HTTP, and misbehaves on demand."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

Request = dict[str, Any]
Behaviour = Callable[["Exchange"], None]


def vector(text: str, dimensions: int) -> list[float]:
    """A vector that belongs to the text, not normalised: so that rows can't be mixed up unnoticed."""
    numbers = np.random.default_rng(list(text.encode())).standard_normal(dimensions) * 3
    return [float(number) for number in numbers]


class Exchange:
    """One request and the means to answer it."""

    def __init__(
        self, handler: BaseHTTPRequestHandler, body: Request, dimensions: int, released: threading.Event
    ) -> None:
        self.handler, self.body, self.released = handler, body, released
        self.texts: list[str] = body["input"]
        self.dimensions = int(body.get("dimensions", dimensions))

    def items(self) -> list[dict[str, Any]]:
        return [
            {"object": "embedding", "index": index, "embedding": vector(text, self.dimensions)}
            for index, text in enumerate(self.texts)
        ]

    def answer(self, items: Any, status: int = 200) -> None:
        self.raw(json.dumps({"object": "list", "data": items, "model": self.body["model"]}).encode(), status)

    def raw(
        self, content: bytes, status: int = 200, headers: dict[str, str] | None = None, length: int | None = None
    ) -> None:
        self.handler.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.handler.send_header(name, value)
        self.handler.send_header("Content-Length", str(len(content) if length is None else length))
        self.handler.end_headers()
        self.handler.wfile.write(content)


def well(exchange: Exchange) -> None:
    exchange.answer(exchange.items())


def in_reverse(exchange: Exchange) -> None:
    exchange.answer(exchange.items()[::-1])


def in_base64(exchange: Exchange) -> None:
    items = exchange.items()
    for item in items:
        item["embedding"] = base64.b64encode(np.array(item["embedding"], "<f4").tobytes()).decode()
    exchange.answer(items)


def filled_with(number: float) -> Behaviour:
    def behave(exchange: Exchange) -> None:
        exchange.answer([{**item, "embedding": [number] * exchange.dimensions} for item in exchange.items()])

    return behave


def one_short(exchange: Exchange) -> None:
    exchange.answer(exchange.items()[:-1])


def one_twice(exchange: Exchange) -> None:
    items = exchange.items()
    exchange.answer([items[0], *items[:-1]])


def too_long(exchange: Exchange) -> None:
    exchange.answer([{**item, "embedding": [*item["embedding"], 1.0]} for item in exchange.items()])


def status(code: int, headers: dict[str, str] | None = None, message: str = "no") -> Behaviour:
    return lambda exchange: exchange.raw(json.dumps({"error": {"message": message}}).encode(), code, headers)


def quoting(exchange: Exchange) -> None:
    exchange.raw(json.dumps({"error": {"message": f"cannot read {exchange.texts[0]}"}}).encode(), 400)


def garbage(exchange: Exchange) -> None:
    exchange.raw(b"<html>Bad gateway, with love</html>")


def half(exchange: Exchange) -> None:
    content = json.dumps({"data": exchange.items()}).encode()
    exchange.raw(content[: len(content) // 2], length=len(content))
    exchange.handler.close_connection = True


def hang(exchange: Exchange) -> None:
    exchange.released.wait(30)


def drip(exchange: Exchange) -> None:
    exchange.raw(b"", length=1000)
    while not exchange.released.wait(0.02):
        try:
            exchange.handler.wfile.write(b" ")
            exchange.handler.wfile.flush()
        except OSError:
            return


class Server:
    """Answers each request by the next of `script`, then `well`. `requests` and `headers` hold what came in."""

    def __init__(self, dimensions: int) -> None:
        self.script: list[Behaviour] = []
        self.requests: list[Request] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        released = self._released = threading.Event()
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                double.requests.append(body)
                double.headers.append({name.lower(): value for name, value in self.headers.items()})
                double.paths.append(self.path)
                behave = double.script.pop(0) if double.script else well
                behave(Exchange(self, body, dimensions, released))

            def log_message(self, *_: object) -> None:
                return

        class Listener(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_: object) -> None:
                return  # a client that hung up is what some tests are about

        self._http = Listener(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@contextmanager
def serving(dimensions: int = 8) -> Iterator[Server]:
    server = Server(dimensions)
    try:
        yield server
    finally:
        server.close()
