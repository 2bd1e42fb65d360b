"""Two roles, one, or none: who is asked, what stands in, and that every answer is validated before anybody sees it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from perdure.clock import DatabaseClock
from perdure.errors import ConfigurationError, ModelFailed, ModelUnavailable
from perdure.llm import Answer, Ledger, Models, Prompt, Role, render
from perdure.llm import endpoint as endpoints
from perdure.llm import models as models_module
from perdure.llm.endpoint import EndpointLimits
from perdure.llm.schemas import BootstrapProfile, ContradictionVerdict, TriageVerdict
from perdure.settings import Settings, load_settings
from tests.doubles import chat_server as double
from tests.doubles import llama_server
from tests.doubles.chat_server import ChatServer, Refuse, Say, Slow, serving

TRIAGE = render("triage_conversation", speaker="Ada", when="", user="I moved to Lisbon.", assistant="Nice!", tools="")
COMPARE = render("contradiction", new="a", new_when="", new_by="", old="b", old_when="", old_by="")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here is about how long it takes to give a server up."""
    limits = EndpointLimits(attempts=2, first_backoff=0.01, probe=3.0)
    monkeypatch.setattr(endpoints, "EndpointLimits", lambda: limits)


@pytest.fixture
def servers() -> Iterator[tuple[ChatServer, ChatServer]]:
    with ExitStack() as stack:
        yield (
            stack.enter_context(serving("llamacpp", model="big")),
            stack.enter_context(serving("ollama", model="small")),
        )


OPENED: list[Models] = []


def opened(**settings: Any) -> Models:
    models = Models.from_settings(load_settings(**settings), DatabaseClock())
    OPENED.append(models)
    return models


@pytest.fixture(autouse=True)
async def closed() -> AsyncIterator[None]:
    yield
    while OPENED:
        await OPENED.pop().close()


async def triage(models: Models, **options: Any) -> Answer[TriageVerdict]:
    return await models.ask("triage", TRIAGE, TriageVerdict, ledger=options.pop("ledger", Ledger()), **options)


async def compare(models: Models, ledger: Ledger) -> Answer[ContradictionVerdict]:
    return await models.ask("contradiction", COMPARE, ContradictionVerdict, ledger=ledger)


async def test_each_role_answers_its_own_call_sites_and_signs_them(servers: tuple[ChatServer, ChatServer]) -> None:
    thinker, subagent = servers
    models = opened(thinker_url=thinker.url, subagent_url=subagent.url)
    ledger = Ledger()
    verdict = await triage(models, ledger=ledger)
    assert "Lisbon" in verdict.value.summary
    assert verdict.made_by == f"triage_conversation-{TRIAGE.version}/big"
    assert (await compare(models, ledger)).made_by.endswith("/small")
    assert [(use.call_site, use.role, use.model, use.ok) for use in ledger.uses] == [
        ("triage", "thinker", "big", True),
        ("contradiction", "subagent", "small", True),
    ]
    assert all(use.prompt_tokens > 50 and use.completion_tokens > 0 and use.latency_ms > 0 for use in ledger.uses)
    assert models.off() == ()


async def test_one_endpoint_for_both_roles_has_one_set_of_slots_and_one_breaker(
    servers: tuple[ChatServer, ChatServer],
) -> None:
    server, _ = servers
    models = opened(thinker_url=server.url, subagent_url=f"{server.url}/", subagent_slots=2)
    assert models.slots("triage") == models.slots("contradiction") == 2
    server.delay_s = 0.05
    await asyncio.gather(*(triage(models) for _ in range(4)), *(compare(models, Ledger()) for _ in range(4)))
    assert server.most_at_once == 2
    server.down()
    ledger = Ledger()
    with pytest.raises(ModelUnavailable):
        await triage(models, ledger=ledger)
    assert len(ledger.uses) == 2, "the subagent's endpoint is the one that is down"


async def test_another_model_or_key_at_the_same_address_is_another_endpoint(
    servers: tuple[ChatServer, ChatServer],
) -> None:
    server, _ = servers
    for other in ({"subagent_model": "x"}, {"subagent_key": "sk-x"}):
        models = opened(thinker_url=server.url, subagent_url=server.url, **other)
        assert (models.slots("triage"), models.slots("contradiction")) == (1, 3)


async def test_the_subagent_stands_in_for_a_thinker_that_is_down_or_missing(
    servers: tuple[ChatServer, ChatServer],
) -> None:
    thinker, subagent = servers
    alone = opened(subagent_url=subagent.url)
    assert (await triage(alone)).made_by.endswith("/small")
    both = opened(thinker_url=thinker.url, subagent_url=subagent.url)
    thinker.down()
    ledger = Ledger()
    assert (await triage(both, ledger=ledger)).made_by.endswith("/small")
    assert [(use.role, use.ok) for use in ledger.uses] == [("thinker", False), ("thinker", False), ("subagent", True)]


async def test_a_thinker_that_hangs_takes_no_time_from_its_stand_in_except_in_a_turn(
    servers: tuple[ChatServer, ChatServer],
) -> None:
    thinker, subagent = servers
    thinker.answer("", double.HANG)
    models = opened(thinker_url=thinker.url, subagent_url=subagent.url)
    with pytest.raises(ModelUnavailable, match="did not answer"):
        await triage(models, deadline_s=1.0, live=True)
    assert subagent.requests == []
    assert (await triage(models, deadline_s=1.0)).made_by.endswith("/small")


async def test_nobody_stands_in_for_an_answer_that_was_bad(servers: tuple[ChatServer, ChatServer]) -> None:
    thinker, subagent = servers
    thinker.answer("triage", double.EMPTY)
    models = opened(thinker_url=thinker.url, subagent_url=subagent.url)
    with pytest.raises(ModelFailed):
        await triage(models)
    assert subagent.requests == []


async def test_without_a_role_its_features_are_off_and_say_so(servers: tuple[ChatServer, ChatServer]) -> None:
    thinker, _ = servers
    none = Models.none()
    assert not none.can("triage")
    assert (none.slots("triage"), none.slots("quality")) == (0, 0)
    assert {"triage", "quality scoring", "contradiction checks"} <= set(none.off())
    with pytest.raises(ModelUnavailable, match="PERDURE_THINKER_URL"):
        await triage(none)
    only = opened(thinker_url=thinker.url)
    assert only.can("triage")
    assert not only.can("contradiction")
    assert "triage" not in only.off()
    assert "contradiction checks" in only.off()
    with pytest.raises(ModelUnavailable, match="PERDURE_SUBAGENT_URL"):
        await compare(only, Ledger())


async def test_an_answer_that_does_not_fit_is_shown_to_the_model_once_with_what_is_wrong(
    servers: tuple[ChatServer, ChatServer],
) -> None:
    server, _ = servers
    server.then("triage", Say('{"salience": 99}'))
    models = opened(thinker_url=server.url)
    ledger = Ledger()
    assert (await triage(models, ledger=ledger)).value.salience <= 10
    first, second = server.requests
    assert second.body["messages"][: len(first.body["messages"])] == first.body["messages"]
    answer, complaint = second.body["messages"][-2:]
    assert answer == {"role": "assistant", "content": '{"salience": 99}'}
    assert "salience" in complaint["content"]
    assert "summary" in complaint["content"]
    assert len(ledger.uses) == 2


@pytest.mark.parametrize("said", [double.WRONG_JSON, Say("I can't do that."), Say('{"salience": 11}')])
async def test_an_answer_that_never_fits_fails_with_what_was_said(
    servers: tuple[ChatServer, ChatServer], said: Say
) -> None:
    server, _ = servers
    server.answer("triage", said)
    models = opened(thinker_url=server.url)
    with pytest.raises(ModelFailed, match="TriageVerdict") as caught:
        await triage(models)
    assert caught.value.answer == said.text
    assert len(server.requests) == 2


async def test_json_in_reasoning_is_not_the_verdict(servers: tuple[ChatServer, ChatServer]) -> None:
    server, _ = servers
    good = (await triage(models := opened(thinker_url=server.url))).text
    server.answer("triage", Say("", reasoning=good))
    with pytest.raises(ModelFailed):
        await triage(models)
    server.answer("triage", double.thinking(good, good.replace("Lisbon", "Paris")))
    assert "Lisbon" in (await triage(models)).value.summary


async def test_a_profile_is_written_with_thinking_and_still_validated(servers: tuple[ChatServer, ChatServer]) -> None:
    server, _ = servers
    models = opened(thinker_url=server.url)
    prompt = render("bootstrap", when="", text="I am Ada, a nurse in Lisbon.")
    profile = await models.ask("bootstrap", prompt, BootstrapProfile, ledger=Ledger())
    assert isinstance(profile.value, BootstrapProfile)
    sent = server.requests[0].body
    assert sent["stream"] is True
    assert sent["chat_template_kwargs"] == {"enable_thinking": True}
    assert "grammar" not in sent


async def test_the_call_site_says_who_is_asked_and_whether_thinking(servers: tuple[ChatServer, ChatServer]) -> None:
    thinker, subagent = servers
    models = opened(thinker_url=thinker.url, subagent_url=subagent.url)
    ledger = Ledger()
    thinker.answer("", Say("A quiet week.", reasoning="hm"))
    prompt = Prompt("episode", 1, "Sum up.", "...")
    assert (await models.write("reflection", prompt, ledger=ledger)).value == "A quiet week."
    assert (await models.write("episode", prompt, ledger=ledger)).value == "A quiet week."
    assert [request.body["chat_template_kwargs"]["enable_thinking"] for request in thinker.requests] == [True, False]
    found = await models.ask("contradiction", COMPARE, ContradictionVerdict, ledger=ledger)
    assert isinstance(found.value, ContradictionVerdict)
    assert [use.call_site for use in ledger.uses] == ["reflection", "episode", "contradiction"]


async def test_every_use_is_counted_and_says_whether_a_turn_waited(servers: tuple[ChatServer, ChatServer]) -> None:
    server, _ = servers
    server.then("", Refuse(503, "loading"), Refuse(400, "context size exceeded"))
    models = opened(thinker_url=server.url)
    ledger = Ledger()
    with pytest.raises(ModelFailed):
        await triage(models, ledger=ledger, live=True)
    await triage(models, ledger=ledger)
    assert [(use.ok, use.live) for use in ledger.uses] == [(False, True), (False, True), (True, False)]


async def test_patience_lengthens_background_deadlines_and_not_those_of_turns(
    servers: tuple[ChatServer, ChatServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = servers
    server.answer("triage", Slow(0.3))
    row = models_module.CALL_SITES["triage"]
    short = type(row)(row.name, row.role, row.mode, row.max_tokens, 0.1, row.schema)
    monkeypatch.setattr(models_module, "CALL_SITES", {"triage": short})
    models = opened(thinker_url=server.url, model_patience=50)
    await triage(models)
    with pytest.raises(ModelUnavailable):
        await triage(models, live=True)


async def test_the_states_of_both_roles_are_told_whatever_is_wrong_with_them(
    servers: tuple[ChatServer, ChatServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    thinker, subagent = servers
    both = opened(thinker_url=thinker.url, subagent_url=subagent.url)
    first, second = await both.roles()
    assert (first.role, first.reachable, first.model, first.dialect, first.slots) == (
        Role.THINKER,
        True,
        "big",
        "llamacpp",
        1,
    )
    assert (second.model, second.dialect, second.breaker, second.problem) == ("small", "ollama", "closed", "")
    assert "triage" in first.gives
    assert "quality" in second.gives
    subagent.down()
    assert [state.reachable for state in await both.roles()] == [True, False]
    assert [state.url for state in await Models.none().roles()] == [None, None]

    odd = opened(thinker_url="http://ex\u00e4mple..invalid:1/v1", subagent_url="http://127.0.0.1:1")
    assert [(state.reachable, bool(state.problem)) for state in await odd.roles()] == [(False, True)] * 2

    monkeypatch.setattr(models_module, "LOOK_S", 0.2)
    with socket.socket() as silent:  # takes connections and never says a word
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        hangs = opened(thinker_url=f"http://127.0.0.1:{silent.getsockname()[1]}")
        async with asyncio.timeout(10):
            state, missing = await hangs.roles()
        assert not state.reachable
        assert "did not answer" in state.problem
        assert missing.url is None


async def test_a_bad_url_is_refused_when_memory_is_opened() -> None:
    with pytest.raises(ConfigurationError, match="PERDURE_SUBAGENT_URL"):
        opened(subagent_url="localhost:8080")


def test_a_budget_may_be_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings().daily_call_budget == 2000
    assert Settings().daily_token_budget == 2_000_000
    monkeypatch.setenv("PERDURE_DAILY_CALL_BUDGET", "none")
    assert Settings().daily_call_budget is None
    with pytest.raises(ConfigurationError, match="PERDURE_DAILY_TOKEN_BUDGET"):
        load_settings(daily_token_budget=-1)


async def test_llama_cpps_own_server_answers_in_all_three_modes(tmp_path: Path) -> None:
    model = llama_server.make_model(tmp_path / "random.gguf")
    with llama_server.serving(model, slots=2) as url:
        models = opened(thinker_url=url, subagent_url=url, subagent_slots=2)
        ledger = Ledger()
        verdicts = await asyncio.gather(*(triage(models, ledger=ledger) for _ in range(6)))
        assert all(1 <= verdict.value.salience <= 10 for verdict in verdicts)
        assert verdicts[0].made_by.endswith("/random.gguf")
        state, _ = await models.roles()
        assert (state.dialect, state.reachable) == ("llamacpp", True)
        for site in ("episode", "reflection"):  # a random model says anything, or nothing, or never stops
            with suppress(ModelFailed):
                assert (await models.write(site, TRIAGE, ledger=ledger, deadline_s=20)).value
        assert all(use.completion_tokens > 0 and use.prompt_tokens > 100 for use in ledger.uses)
