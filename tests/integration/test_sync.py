"""The blocking surface: no thread waits for ever, whoever closes the memory or forks the process."""

from __future__ import annotations

import inspect
import os
import signal
import threading
import time

import pytest

from perdure.errors import PerdureError
from perdure.fact_types import FactNotice, Participant, TurnState
from perdure.memory import Memory as AsyncMemory
from perdure.space import Space as AsyncSpace
from perdure.sync import Memory, Space
from tests.doubles.embedder import HashedEmbedder


def open_blocking(urls, embedder: HashedEmbedder) -> Memory:
    return Memory.open(
        database_url=urls.app,
        database_worker_url=urls.worker,
        database_owner_url=urls.owner,
        embedder=embedder,
        worker=False,
    )


def test_closing_ends_the_calls_that_other_threads_are_in(urls) -> None:
    embedder = HashedEmbedder()
    memory = open_blocking(urls, embedder)
    space = memory.space("sync-closing")
    space.save("Ada moved to Lisbon")
    embedder.hang_s = 60
    errors: list[BaseException] = []

    def call() -> None:
        try:
            space.save("Ada has a cat called Turing")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=call, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    memory.close()
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)
    assert [type(error) for error in errors] == [PerdureError, PerdureError]
    assert "closed" in str(errors[0])


@pytest.mark.filterwarnings("error")
def test_a_call_after_closing_says_that_the_memory_is_not_open(urls) -> None:
    memory = open_blocking(urls, HashedEmbedder())
    space = memory.space("sync-closed")
    memory.close()
    memory.close()
    for call in (memory.spaces, space.stats):
        with pytest.raises(PerdureError, match="not open"):
            call()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_told_to_open_its_own_and_leaves_the_parent_alone(urls) -> None:
    with open_blocking(urls, HashedEmbedder()) as memory:
        space = memory.space("sync-forked")
        space.save("Ada moved to Lisbon")
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            said = 0
            for call in (memory.spaces, lambda: space.save("from the child")):
                try:
                    call()
                except PerdureError as error:
                    said += "another process" in str(error)
            memory.close()
            os._exit(0 if said == 2 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert len(space.list()) == 1


def test_facts_are_there_without_an_event_loop(urls) -> None:
    told: list[FactNotice] = []
    with Memory.open(
        database_url=urls.app,
        database_worker_url=urls.worker,
        database_owner_url=urls.owner,
        embedder=HashedEmbedder(),
        worker=False,
        notifier=told.append,
    ) as memory:
        space = memory.space("sync-facts")
        momo = space.persona("Momo")
        ada = Participant("u-ada", "Ada")
        state = TurnState("guild", None, momo, ada)
        arguments = {"memory_content": "{user} naps", "memory_scope": "target_user", "target_user": "Ada"}
        taught = space.create_long_term_memory(state, arguments)
        by_hand = space.remember("Always whisper", about="server:guild")
        assert {listed.fact.id for listed in space.facts()} == {taught.id, by_hand.id}
        assert space.pin_fact(str(by_hand.id)).pinned
        space.forget_all_facts()
        assert space.facts() == ()
    assert [notice.action for notice in told] == ["created", "created", "pinned"]


def test_every_verb_of_a_space_has_its_blocking_twin() -> None:
    verbs = {name for name, made in inspect.getmembers(AsyncSpace, inspect.iscoroutinefunction) if name[0] != "_"}
    assert verbs
    assert {name for name in verbs if not hasattr(Space, name)} == set()


def test_every_verb_of_a_memory_has_its_blocking_twin() -> None:
    verbs = {name for name, made in inspect.getmembers(AsyncMemory, inspect.iscoroutinefunction) if name[0] != "_"}
    assert {name for name in verbs if not hasattr(Memory, name)} == {"find_space", "ensure_space"}


def test_keys_and_the_audit_log_are_there_without_an_event_loop(own_database) -> None:
    with open_blocking(own_database, HashedEmbedder()) as memory:
        memory.space("ada").save("Ada likes pears")
        key, token = memory.create_key("laptop", spaces="ada")
        assert token.startswith("perdure_")
        (listed,) = memory.keys()
        assert listed.id == key.id
        memory.revoke_key("laptop")
        assert [entry.kind for entry in memory.audit("ada")] == ["save"]
        assert [entry.kind for entry in memory.audit()] == ["revoke_key", "create_key"]
