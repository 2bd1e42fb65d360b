"""Keys from the command line to a running server, and the log of what was done with them."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator

import httpx
import pytest

from perdure.store.embedded import EmbeddedServer
from tests.acceptance.cli_process import Perdure


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Perdure]:
    path = tmp_path_factory.mktemp("keys")
    with EmbeddedServer.open(path):  # kept running for all commands of this module
        yield Perdure(path)


def test_a_key_is_made_before_others_may_reach_the_server_and_lets_its_owner_in(run: Perdure) -> None:
    refused = run("serve", "--host", "0.0.0.0", "--port", "0", "--no-worker")
    assert (refused.status, "perdure keys create" in refused.err) == (2, True)

    made = run("keys", "create", "laptop", "--only", "ada", "--days", "90")
    assert made.status == 0
    token = made.out.strip()
    assert token.startswith("perdure_")
    assert token not in made.err

    serving = run.start("serve", "--host", "0.0.0.0", "--port", "0", "--no-worker", "--json")
    try:
        assert serving.stdout is not None
        address = ""
        while "}" not in address:
            address += serving.stdout.readline()
        port = int(address.split(":")[-1].split('"')[0])
        url = f"http://{socket.gethostbyname('localhost')}:{port}"
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}) as client:
            saved = client.post("/v1/spaces/ada/memories", json={"text": "Ada likes pears"}, timeout=60)
            assert saved.status_code == 201
            assert client.get("/v1/spaces/ben/stats").status_code == 403
        assert httpx.get(f"{url}/v1/spaces").status_code == 401
    finally:
        serving.send_signal(signal.SIGTERM)
        serving.communicate(timeout=30)

    (entry,) = run.json("audit", "--space", "ada")["entries"]
    assert (entry["actor"], entry["door"], entry["kind"], entry["touched"]) == ("laptop", "rest", "save", 1)


def test_keys_are_listed_rotated_and_revoked_without_their_secrets(run: Perdure) -> None:
    first = run.json("keys", "create", "phone", "--scope", "read")
    second = run.json("keys", "rotate", "phone", "--grace", "1")
    assert first["key"] != second["key"]
    assert second["former_until"] is not None
    listed = run("keys", "list", "--json")
    (shown,) = [key for key in listed.data["keys"] if key["name"] == "phone"]
    assert (shown["state"], shown["scopes"], shown["spaces"]) == ("live", ["read"], None)
    assert first["key"].split("_", 2)[2] not in listed.out
    assert run.json("keys", "revoke", shown["prefix"])["name"] == "phone"
    again = run("keys", "rotate", "phone")
    assert (again.status, "perdure keys list" in again.err) == (1, True)

    entries = run.json("audit", "--everywhere", "--since", "2020-01-01")["entries"]
    of_phone = [entry["kind"] for entry in entries if entry["ids"] == [shown["id"]]]
    assert of_phone == ["revoke_key", "rotate_key", "create_key"]
    assert {entry["door"] for entry in entries} == {"cli"}
    assert all(entry["actor"] for entry in entries)


def test_a_time_that_is_none_is_refused(run: Perdure) -> None:
    result = run("audit", "--since", "someday")
    assert (result.status, "since" in result.err) == (2, True)
