"""Each server is told by its own signs, asked in its own words, and not asked again for what it has refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from perdure.llm.dialects import EFFORTS, Dialect, Form, Learned, Peek, base_url, compose, detect, first_form
from perdure.llm.refusals import Refusal, learn, read_refusal, shown_reason, weaker_form
from perdure.llm.schemas import Usefulness

LOCAL = "http://localhost:8080/v1"
OPENAI = "https://api.openai.com/v1"
MESSAGES = [{"role": "user", "content": "hello"}]


def listing(owner: str, *names: str) -> Peek:
    return Peek(200, {"data": [{"id": name, "owned_by": owner} for name in names]})


async def seen(routes: dict[str, Peek], base: str = LOCAL) -> tuple[Dialect, tuple[str, ...], bool]:
    async def get(url: str) -> Peek:
        return routes.get(url.removeprefix(base.removesuffix("/v1")), Peek(404, None))

    found = await detect(base, get)
    return found.dialect, found.models, found.certain


@pytest.mark.parametrize(
    ("routes", "dialect"),
    [
        ({"/v1/models": listing("llamacpp", "m")}, Dialect.LLAMACPP),
        ({"/v1/models": listing("vllm", "m")}, Dialect.VLLM),
        ({"/v1/models": listing("library", "m"), "/api/version": Peek(200, {"version": "0.12"})}, Dialect.OLLAMA),
        (
            {"/v1/models": listing("me", "m"), "/props": Peek(200, {"default_generation_settings": {}})},
            Dialect.LLAMACPP,
        ),
        ({"/v1/models": listing("org", "m"), "/version": Peek(200, {"version": "0.11.0"})}, Dialect.VLLM),
        ({"/v1/models": listing("organization_owner", "m"), "/api/version": Peek(200, "ok")}, Dialect.OPENAI),
    ],
)
async def test_a_server_is_told_by_its_signs(routes: dict[str, Peek], dialect: Dialect) -> None:
    assert await seen(routes) == (dialect, ("m",), True)


@pytest.mark.parametrize("status", [401, 408, 429, 503])
async def test_a_server_that_is_loading_or_wants_a_key_is_looked_at_again(status: int) -> None:
    assert await seen({"/v1/models": Peek(status, None)}) == (Dialect.OPENAI, (), False)


@pytest.mark.parametrize("document", [None, [], "x", {"data": 1}, {"data": [1, {"id": 2}, {}]}])
async def test_an_odd_list_of_models_is_an_empty_one(document: Any) -> None:
    assert await seen({"/v1/models": Peek(200, document)}) == (Dialect.OPENAI, (), True)


async def test_openai_itself_is_asked_for_nothing_but_its_models() -> None:
    asked: list[str] = []

    async def get(url: str) -> Peek:
        asked.append(url)
        return Peek(401, None)

    assert (await detect(OPENAI, get)).certain
    assert asked == [f"{OPENAI}/models"]


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://localhost:8080", LOCAL),
        ("http://localhost:8080/", LOCAL),
        (" http://localhost:8080/v1/ ", LOCAL),
        ("http://localhost:8080/v1/chat/completions", LOCAL),
        ("https://host/v1beta/openai", "https://host/v1beta/openai"),
    ],
)
def test_a_url_may_be_given_with_or_without_its_version(url: str, base: str) -> None:
    assert base_url(url) == base


def body(dialect: Dialect, base: str = LOCAL, *, thinking: bool = False, **given: Any) -> dict[str, Any]:
    options: dict[str, Any] = {
        "stream": thinking,
        "max_tokens": 100,
        "schema": None if thinking else Usefulness,
        "form": first_form(dialect, base),
        "learned": Learned(),
    }
    return compose(dialect, base, "m", MESSAGES, thinking=thinking, **{**options, **given})


def test_llamacpp_gets_a_grammar_and_never_a_schema_beside_it() -> None:
    asked = body(Dialect.LLAMACPP)
    assert "root ::=" in asked["grammar"]
    assert "response_format" not in asked
    assert asked["chat_template_kwargs"] == {"enable_thinking": False}
    assert asked["reasoning_format"] == "none"
    thinking = body(Dialect.LLAMACPP, thinking=True)
    assert thinking["chat_template_kwargs"] == {"enable_thinking": True}
    assert thinking["reasoning_format"] == "deepseek"
    assert thinking["stream"] is True
    assert "grammar" not in thinking


@pytest.mark.parametrize("dialect", [Dialect.VLLM, Dialect.OLLAMA, Dialect.OPENAI])
def test_the_others_get_a_named_strict_schema(dialect: Dialect) -> None:
    asked = body(dialect)
    assert "grammar" not in asked
    assert asked["response_format"]["type"] == "json_schema"
    shape = asked["response_format"]["json_schema"]
    assert (shape["name"], shape["strict"]) == ("Usefulness", True)
    assert shape["schema"]["additionalProperties"] is False


def test_each_is_told_in_its_own_words_not_to_think() -> None:
    assert body(Dialect.VLLM)["chat_template_kwargs"] == {"enable_thinking": False}
    assert (body(Dialect.OLLAMA)["think"], body(Dialect.OLLAMA)["reasoning_effort"]) == (False, "none")
    assert body(Dialect.OPENAI)["reasoning_effort"] == "none"
    assert "reasoning_effort" not in body(Dialect.OPENAI, thinking=True)


def test_openai_is_limited_by_its_new_name_and_others_by_the_old_one() -> None:
    assert body(Dialect.OPENAI, OPENAI)["max_completion_tokens"] == 100
    assert "max_tokens" not in body(Dialect.OPENAI, OPENAI)
    assert body(Dialect.OPENAI)["max_tokens"] == 100
    learned = Learned(refused=frozenset({"max_tokens"}))
    assert body(Dialect.OPENAI, learned=learned)["max_completion_tokens"] == 100


def test_a_model_that_can_only_think_less_gets_room_for_it() -> None:
    asked = body(Dialect.OPENAI, learned=Learned(effort=EFFORTS.index("low")))
    assert asked["reasoning_effort"] == "low"
    assert asked["max_tokens"] > 1000


def refusal(message: str, **fields: str) -> Refusal:
    return read_refusal(400, json.dumps({"error": {"message": message, **fields}}).encode())


@pytest.mark.parametrize(
    ("said", "dropped"),
    [
        (refusal("Unrecognized request argument supplied: reasoning_effort"), "reasoning_effort"),
        (refusal("Unsupported value: 'temperature' does not support 0.1 with this model."), "temperature"),
        (refusal("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."), "max_tokens"),
        (refusal("Unsupported parameter", param="temperature"), "temperature"),
        (
            read_refusal(
                422,
                json.dumps(
                    {
                        "detail": [
                            {
                                "type": "extra_forbidden",
                                "loc": ["body", "reasoning_effort"],
                                "msg": "Extra inputs are not permitted",
                                "input": {"temperature": 0.1},
                            }
                        ]
                    }
                ).encode(),
            ),
            "reasoning_effort",
        ),
        (read_refusal(400, b'{"error": "unknown field: temperature"}'), "temperature"),
    ],
)
def test_what_a_server_does_not_know_is_left_out_from_then_on(said: Refusal, dropped: str) -> None:
    sent = body(Dialect.OPENAI)
    learned = learn(said, sent, Learned())
    assert learned.refused == {dropped}
    assert dropped not in body(Dialect.OPENAI, learned=learned)


def test_another_word_for_not_thinking_is_tried_before_giving_it_up() -> None:
    learned = Learned()
    efforts = []
    for _ in range(4):
        sent = body(Dialect.OPENAI, learned=learned)
        efforts.append(sent.get("reasoning_effort"))
        effort = efforts[-1]
        learned = learn(refusal(f"Unsupported value: 'reasoning_effort' does not support '{effort}'."), sent, learned)
    assert efforts == ["none", "minimal", "low", None]


@pytest.mark.parametrize(
    "message",
    [
        "'max_tokens' is too large: 4096. This model's maximum context length is 2048 tokens.",
        "the request exceeds the available context size",
        "bad request",
    ],
)
def test_a_refusal_of_the_input_drops_nothing(message: str) -> None:
    assert learn(refusal(message), body(Dialect.OPENAI), Learned()) == Learned()


def test_the_limit_of_tokens_is_never_given_up() -> None:
    learned = Learned(refused=frozenset({"max_tokens"}))
    sent = body(Dialect.OPENAI, learned=learned)
    assert learn(refusal("Unsupported parameter: 'max_completion_tokens'"), sent, learned) == learned


@pytest.mark.parametrize(
    ("said", "form", "weaker"),
    [
        (refusal("failed to parse grammar"), Form.GRAMMAR, Form.SCHEMA),
        (refusal("'response_format.type' must be 'json_object' or 'text'"), Form.SCHEMA, Form.OBJECT),
        (
            refusal("In context=('properties',), 'maxLength' is not permitted. Invalid schema"),
            Form.SCHEMA,
            Form.BARE_SCHEMA,
        ),
        (refusal("response_format is not supported"), Form.OBJECT, Form.PLAIN),
        (refusal("no", param="response_format"), Form.BARE_SCHEMA, Form.OBJECT),
    ],
)
def test_a_form_that_is_refused_is_followed_by_a_weaker_one(said: Refusal, form: Form, weaker: Form) -> None:
    assert weaker_form(said, form, proven=True) is weaker


def test_an_unexplained_refusal_weakens_only_a_form_that_never_worked() -> None:
    assert weaker_form(refusal("bad request"), Form.SCHEMA, proven=False) is Form.OBJECT
    assert weaker_form(refusal("bad request"), Form.SCHEMA, proven=True) is None
    assert weaker_form(refusal("context size exceeded"), Form.SCHEMA, proven=False) is None
    assert weaker_form(refusal("response_format"), Form.PLAIN, proven=False) is None


def test_what_is_shown_of_a_refusal_has_no_key_and_no_prompt() -> None:
    said = refusal("key sk-1 may not do that")
    assert shown_reason(said, ("sk-1",), ("my secret",)) == " (key … may not do that)"
    assert shown_reason(refusal("can't read: my secret"), (), ("my secret",)) == ""
    assert shown_reason(read_refusal(400, b"<html>\xff"), (), ()) == ""
    assert len(shown_reason(refusal("x" * 5000), (), ())) < 200


@pytest.mark.parametrize(
    "said",
    [
        refusal('model "qwen" not found, try pulling it first'),
        refusal("The model `gpt-9` does not exist or you do not have access to it.", code="model_not_found"),
        refusal("you must provide a model parameter"),
        read_refusal(404, b'{"object": "error", "message": "The model `x` does not exist."}'),
    ],
)
def test_a_missing_model_is_recognised(said: Refusal) -> None:
    assert said.no_such_model


def test_other_refusals_are_not_taken_for_a_missing_model() -> None:
    assert not refusal("This model's maximum context length is 2048 tokens").no_such_model
