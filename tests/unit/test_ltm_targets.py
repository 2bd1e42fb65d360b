"""Whom a name means that a model wrote."""

from __future__ import annotations

import pytest

from perdure.fact_types import FactStatus, Participant, Persona, TurnState
from perdure.ltm.refusing import Refused
from perdure.ltm.targets import name_key, resolve

ADA = Participant("1", "Ada Lovelace", ("ada_l", "Countess"))
ZOE = Participant("2", "Zoë", ("zed",))
STATE = TurnState("guild", None, Persona(10_000, "Momo", ("Momo-chan",)), ADA, (ADA, ZOE))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Ada Lovelace", ADA),
        ("@ada_L", ADA),
        ("  ADA \t LOVELACE ", ADA),
        ("ＡＤＡ lovelace", ADA),
        ("zoe", ZOE),
        ("ZOË", ZOE),
        ("@ Zed", ZOE),
        ("momo", None),
        ("Momo-Chan", None),
        ("self", None),
    ],
)
def test_names_are_read_in_any_spelling(written: str, meant: Participant | None) -> None:
    assert resolve(written, STATE) == meant


@pytest.mark.parametrize("written", ["Ada", "Love", "1", "2", "", "  ", "@", "@@ada_l", "\u200b", "user", "{user}"])
def test_what_nobody_is_called_is_nobody(written: str) -> None:
    with pytest.raises(Refused) as refused:
        resolve(written, STATE)
    outcome = refused.value.outcome
    assert outcome.status is FactStatus.TARGET_UNKNOWN
    assert "'Ada Lovelace', 'Zoë'" in outcome.message, "the model is told who is there"


def test_a_crowd_is_not_read_out_to_a_model() -> None:
    crowd = tuple(Participant(str(number), f"Person {number} {'x' * 500}") for number in range(500))
    with pytest.raises(Refused) as refused:
        resolve("Ada", TurnState(participants=crowd))
    assert len(refused.value.outcome.message) < 1200


def test_names_without_anything_to_see_mean_nobody() -> None:
    blank = Participant("3", "\u200b", ("",))
    with pytest.raises(Refused):
        resolve("\u200b", TurnState(participants=(blank,)))
    assert name_key("\u200b") == ""


def test_without_a_persona_nobody_is_the_assistant() -> None:
    with pytest.raises(Refused):
        resolve("self", TurnState(participants=(ADA,)))
