"""A reranker over real HTTP: it scores a text by the words it shares with the query, and misbehaves on demand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class RerankServer:
    """`requests` are the bodies that came in; `behave` gets one and returns status and bytes, `hang` answers never."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.hang = threading.Event()
        self.behave: Callable[[dict[str, Any]], tuple[int, bytes]] = by_shared_words
        self.released = threading.Event()
        double = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                double.requests.append(body)
                double.keys.append(self.headers.get("Authorization"))
                double.paths.append(self.path)
                if double.hang.is_set():
                    double.released.wait(30)
                    return
                status, content = double.behave(body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


def by_shared_words(body: dict[str, Any]) -> tuple[int, bytes]:
    """In the order of the scores, as real servers answer."""
    wanted = set(body["query"].lower().split())
    scores = [len(wanted & set(text.lower().split())) for text in body["documents"]]
    found = sorted(({"index": i, "relevance_score": float(s)} for i, s in enumerate(scores)), key=_best_first)
    return 200, json.dumps({"model": body.get("model"), "results": found}).encode()


def _best_first(result: dict[str, Any]) -> float:
    return -float(result["relevance_score"])


@contextmanager
def reranking() -> Iterator[RerankServer]:
    """A double for as long as the block lasts."""
    double = RerankServer()
    thread = threading.Thread(target=double.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield double
    finally:
        double.released.set()
        double.server.shutdown()
        double.server.server_close()
        thread.join()
