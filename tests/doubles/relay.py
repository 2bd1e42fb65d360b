"""A wire between a client and a real server that can be cut, held up, or encrypted."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading


class Relay:
    """Passes bytes on between its own port and `target`, a port of this machine or the path of a Unix socket.

    `delay_s` is what every piece of the server's answers takes on its way. `swallow` lets nothing through any more, in
    either direction, until `flow`; connections are still accepted, and nobody is told.
    `cut_after` breaks each of the next connections after that many bytes from the server; the list is used up from its
    beginning, and connections after its end are left whole. `tls` makes the side of the client encrypted.
    With `hold`, a connection isn't broken there, but falls silent.
    """

    def __init__(
        self,
        target: int | str,
        *,
        tls: ssl.SSLContext | None = None,
        cut_after: list[int] | None = None,
        hold: bool = False,
    ) -> None:
        self.connections = 0
        self.delay_s = 0.0
        self._target = target
        self._flowing = threading.Event()
        self._flowing.set()
        self._tls = tls
        self._hold = hold
        self._over = threading.Event()
        self._cuts = cut_after or []
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._start(self._accept)

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._over.set()
        self._flowing.set()
        self.cut()
        for thread in self._threads:
            thread.join(5)

    def swallow(self) -> None:
        """From now on everything gets lost on the way, as behind a firewall that drops packets."""
        self._flowing.clear()

    def flow(self) -> None:
        """What was held up arrives."""
        self._flowing.set()

    def cut(self) -> None:
        """Break every connection that is open now."""
        for end in self._sockets:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _start(self, target: object, *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            limit = self._cuts.pop(0) if self._cuts else None
            if self._tls is not None:
                try:
                    client = self._tls.wrap_socket(client, server_side=True)
                except OSError:
                    client.close()
                    continue
            server = self._reached()
            self._sockets += [client, server]
            self._start(self._pass_on, client, server, None)
            self._start(self._pass_on, server, client, limit, True)

    def _reached(self) -> socket.socket:
        if isinstance(self._target, int):
            return socket.create_connection(("127.0.0.1", self._target))
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.connect(self._target)
        return server

    def _pass_on(self, source: socket.socket, target: socket.socket, limit: int | None, late: bool = False) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                if late and self.delay_s:
                    self._over.wait(self.delay_s)
                self._flowing.wait()
                if limit is not None and len(data) >= limit:
                    target.sendall(data[:limit])
                    if self._hold:
                        self._over.wait(30)
                    break
                limit = None if limit is None else limit - len(data)
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class SilentServer:
    """Accepts connections and never says a word."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> SilentServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
