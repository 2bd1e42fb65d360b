"""`perdure serve` as a process of its own: it starts, answers, and ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from perdure.clock import DatabaseClock
from perdure.store.embedded import EmbeddedServer
from tests.acceptance.cli_process import Perdure
from tests.doubles.chat_server import HANG, ChatServer
from tests.doubles.chat_server import serving as model_serving

ENDS_IN_S = 5.0
WAITS_S = 30.0
SPACE = "/v1/spaces/ada"
SITE = "consult_deep_thinker"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM to catch")


@pytest.fixture(scope="module")
def model() -> Iterator[ChatServer]:
    """A thinker that never answers."""
    with model_serving() as model:
        model.answer(SITE, HANG)
        yield model


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, model: ChatServer) -> Iterator[Perdure]:
    path = tmp_path_factory.mktemp("serve")
    with EmbeddedServer.open(path):  # kept running for all commands of this module
        yield Perdure(path, PERDURE_THINKER_URL=model.url, PERDURE_THINKER_MODEL="double")


@contextmanager
def started(run: Perdure) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server that answers, and its address."""
    with run.start("serve", "--port", "0") as process:
        try:
            assert process.stderr is not None
            said: list[str] = []
            while not (said and "Serving on" in said[-1]):
                said.append(process.stderr.readline())
                assert said[-1], "".join(said)
            yield process, said[-1].split()[2]
        finally:
            process.kill()


def ended(process: subprocess.Popen[str], by: signal.Signals) -> tuple[float, str]:
    """How long a server took to end, and what it said at last."""
    clock = DatabaseClock()
    told = clock.monotonic()
    process.send_signal(by)
    _, said = process.communicate(timeout=WAITS_S)
    return clock.monotonic() - told, said


def test_sigterm_lets_requests_under_way_end_and_takes_five_seconds_at_most(run: Perdure, model: ChatServer) -> None:
    begun, told = threading.Event(), threading.Event()

    def body() -> Iterator[bytes]:
        yield b'{"text": "Ada lives '
        begun.set()
        told.wait(WAITS_S)
        yield b'in Lima"}'

    with started(run) as (process, address), httpx.Client(base_url=address, timeout=WAITS_S) as http:
        assert http.post(f"{SPACE}/memories", json={"text": "Ada is allergic to peanuts"}).status_code == 201
        with ThreadPoolExecutor(2) as threads:
            short = threads.submit(http.post, f"{SPACE}/memories", content=body())
            asked = {"question": "What may she not eat?"}
            long = threads.submit(httpx.post, f"{address}{SPACE}/cognition/consult", json=asked, timeout=WAITS_S)
            assert begun.wait(WAITS_S)
            while not model.asked(SITE):
                assert http.get("/livez").json() == {"status": "alive"}
                assert not long.done(), long.result().text
            threading.Timer(0.5, told.set).start()
            took, said = ended(process, signal.SIGTERM)
            saved, cut_off = short.result(), long.result()
    assert (process.returncode, said.splitlines()[-1]) == (0, "Stopped.")
    assert took < ENDS_IN_S
    assert saved.status_code == 201
    assert (cut_off.status_code, cut_off.json()["code"]) == (503, "stopping")
    assert cut_off.headers["retry-after"]
    assert run.json("stats", "--space", "ada")["memories"] == 2


def test_ctrl_c_ends_it_as_well_and_the_worker_within_has_gone(run: Perdure) -> None:
    with started(run) as (process, address):
        workers = httpx.get(f"{address}/v1/workers").json()["workers"]
        assert [each["process"] for each in workers] == [process.pid]
        took, said = ended(process, signal.SIGINT)
    assert (process.returncode, said.splitlines()[-1]) == (0, "Stopped.")
    assert took < ENDS_IN_S
    assert run.json("worker", "status")["workers"] == []


def test_an_address_that_is_taken_is_told_before_anything_is_opened(run: Perdure) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run("serve", "--port", str(taken.getsockname()[1]))
    assert result.status == 2
    assert "--port" in result.err
    assert "Traceback" not in result.err
