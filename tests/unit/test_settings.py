"""Settings: a bad one is named with its limit, and a secret is never shown."""

from __future__ import annotations

import traceback

import pytest

from perdure import Memory
from perdure.errors import ConfigurationError
from perdure.settings import load_settings

SECRET = "sk-verysecret"


def refused(**given: object) -> tuple[str, str]:
    """The message, and all that a traceback would print."""
    with pytest.raises(ConfigurationError) as error:
        load_settings(**given)
    return str(error.value), "".join(traceback.format_exception(error.value))


@pytest.mark.parametrize(
    "given",
    [
        {"api_key": SECRET},
        {"embedder_key": [SECRET]},
        {"embedder_key": {SECRET: 1}},
        {"database_url": SECRET.encode() + b"\xff"},
        {"database_owner_url": (SECRET,)},
    ],
)
def test_the_value_of_a_secret_or_of_an_unknown_setting_is_never_shown(given: dict[str, object]) -> None:
    message, printed = refused(**given)
    assert next(iter(given)).upper() in message.upper()
    # The line of this test that made the call is in the traceback, the value isn't.
    assert SECRET not in message
    assert SECRET not in printed


def test_a_bad_number_is_shown_with_its_variable_and_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    message, _ = refused(recall_limit=21)
    assert message.startswith("PERDURE_RECALL_LIMIT = 21 is not accepted")
    assert "20" in message
    monkeypatch.setenv("MAX_CHUNK_BYTES", "many")
    assert refused()[0].startswith("PERDURE_MAX_CHUNK_BYTES = 'many' is not accepted")


@pytest.mark.parametrize("name", ["MAX_SERVER_MEMORIES", "MAX_PERSONAL_MEMORIES", "MAX_MEMORY_LENGTH"])
@pytest.mark.parametrize("value", ["lots", "0", "-5", "1e9", "12.5"])
def test_a_limit_of_facts_that_is_none_is_an_error_and_no_default(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert refused()[0].startswith(f"PERDURE_{name} = '{value}' is not accepted")


def test_decay_is_switched_off_by_the_word_false_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().memory_decay_enabled
    for written, decays in (("false", False), ("true", True), ("", True)):
        monkeypatch.setenv("MEMORY_DECAY_ENABLED", written)
        assert load_settings().memory_decay_enabled is decays
    monkeypatch.setenv("MEMORY_DECAY_ENABLED", "0")
    assert "true or false" in refused()[0]


def test_an_unknown_setting_names_the_one_that_was_meant() -> None:
    message, printed = refused(recal_limit=SECRET)
    assert "There is no setting 'recal_limit'; did you mean recall_limit?" in message
    assert SECRET not in printed


def test_the_setting_embedder_is_an_argument_of_open_too() -> None:
    memory = Memory.open(embedder="openai", embedder_url="http://localhost/v1", embedder_model="m")
    assert memory.settings.embedder == "openai"
    with pytest.raises(ConfigurationError, match="embedder is a int"):
        Memory.open(embedder=7)
