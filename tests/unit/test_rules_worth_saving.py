"""What a triage judged is saved from a threshold on."""

from __future__ import annotations

import pytest

from perdure.rules.worth_saving import SaveThresholds, saves_exchange, saves_item
from perdure.settings import Settings

MISSION = SaveThresholds()


@pytest.mark.parametrize(
    ("salience", "grounded", "saved"), [(3, True, True), (2, True, False), (5, False, True), (4, False, False)]
)
def test_what_a_tool_bears_out_is_saved_sooner(salience: int, grounded: bool, saved: bool) -> None:
    assert saves_exchange(salience, MISSION, grounded=grounded) is saved


@pytest.mark.parametrize(("salience", "save", "saved"), [(1, True, True), (10, False, False), (1, False, False)])
def test_a_mail_is_saved_unless_the_model_says_not_to(salience: int, save: bool, saved: bool) -> None:
    assert saves_item(salience, MISSION, save=save) is saved
    assert not saves_item(1, SaveThresholds(item=2), save=True)


def test_the_settings_begin_with_the_missions_numbers() -> None:
    assert Settings().save_thresholds == MISSION
