"""The table of call sites is the mission's: who is asked, in which mode, with or without thinking."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checks.sources import ROOT
from perdure.llm.call_sites import CALL_SITES, Mode, Role
from perdure.llm.prompting import load, names

MISSION = ROOT.parent / "shared" / "seeds" / "memory-system.txt"

# The mission's "Thinking Mode by Call Site": call site, method, thinking.
TABLE = {
    "consult_deep_thinker": ("Complete", "on"),
    "Triage (email/calendar/conversation)": ("Subagent CompleteWithGrammar", "off"),
    "Consolidation (profile synthesis)": ("CompleteNoThink", "off"),
    "Plan decomposition": ("CompleteNoThink", "off"),
    "Replanning": ("CompleteNoThink", "off"),
    "Complex plan steps": ("Complete", "on"),
    "Bootstrap profile": ("Complete", "on"),
    "Paradigm shift transition": ("Complete", "on"),
    "Episode synthesis": ("CompleteNoThink (via SynthesizeFunc)", "off"),
    "Reflection": ("Complete (via SynthesizeFunc)", "on"),
}
OURS = {
    "consult_deep_thinker": "consult_deep_thinker",
    "Triage (email/calendar/conversation)": "triage",
    "Consolidation (profile synthesis)": "consolidation",
    "Plan decomposition": "plan_decomposition",
    "Replanning": "replanning",
    "Complex plan steps": "complex_plan_step",
    "Bootstrap profile": "bootstrap",
    "Paradigm shift transition": "transition",
    "Episode synthesis": "episode",
    "Reflection": "reflection",
}
SUBAGENTS = {"distillation", "quality", "contradiction", "entities", "usefulness", "rewrite", "rerank"}
MODES = {
    "Complete": Mode.COMPLETE,
    "CompleteNoThink": Mode.COMPLETE_NO_THINK,
    "CompleteWithGrammar": Mode.COMPLETE_WITH_GRAMMAR,
}


def role_and_mode(method: str) -> tuple[Role, Mode]:
    method = method.removesuffix(" (via SynthesizeFunc)")
    role = Role.SUBAGENT if method.startswith("Subagent ") else Role.THINKER
    return role, MODES[method.removeprefix("Subagent ")]


@pytest.mark.parametrize("row", TABLE)
def test_each_row_of_the_mission_is_asked_as_it_says(row: str) -> None:
    method, thinking = TABLE[row]
    role, mode = role_and_mode(method)
    site = CALL_SITES[OURS[row]]

    assert site.mode is mode
    assert site.thinking is (thinking == "on")
    if site.name == "triage":
        # The one named exception: the mission's text names the thinker, its table the subagent.
        assert (site.role, site.fallback) == (Role.THINKER, role)
    else:
        assert (site.role, site.fallback) == (role, None)


def test_whatever_else_is_asked_is_asked_of_the_subagent_with_a_grammar() -> None:
    assert set(CALL_SITES) == {*OURS.values(), *SUBAGENTS}
    for name in SUBAGENTS:
        site = CALL_SITES[name]
        assert (site.role, site.mode, site.thinking, site.fallback) == (
            Role.SUBAGENT,
            Mode.COMPLETE_WITH_GRAMMAR,
            False,
            None,
        )


def test_a_grammar_has_a_schema_and_what_the_mission_wants_as_json_without_one_is_validated() -> None:
    for site in CALL_SITES.values():
        assert site.mode is not Mode.COMPLETE_WITH_GRAMMAR or (site.schema is not None and not site.thinking)
    validated = {
        site.name for site in CALL_SITES.values() if site.schema and site.mode is not Mode.COMPLETE_WITH_GRAMMAR
    }
    assert validated == {"bootstrap", "consolidation", "episode", "reflection"}


def test_a_turn_waits_ten_seconds_at_most_and_background_work_has_limits_too() -> None:
    for site in CALL_SITES.values():
        live = site.name in {"usefulness", "rewrite", "rerank"}
        assert site.deadline_s == 10 if live else 10 < site.deadline_s <= 300
        assert 0 < site.max_tokens <= 8192


def test_every_prompt_belongs_to_a_call_site_and_every_name_is_its_own_key() -> None:
    assert {load(name).site for name in names()} <= set(CALL_SITES)
    assert all(name == site.name for name, site in CALL_SITES.items())


@pytest.mark.data
@pytest.mark.skipif(not MISSION.is_file(), reason=f"the mission is not at {MISSION}")
def test_the_table_above_is_the_mission_s_own() -> None:
    assert parsed(MISSION) == TABLE


def parsed(mission: Path) -> dict[str, tuple[str, str]]:
    """The rows between the table's heading and the next one; each is name, method, on or off, and why."""
    table = mission.read_text(encoding="utf-8").partition("Thinking Mode by Call Site")[2].partition("Key Constants")[0]
    row = re.compile(r"(?P<name>.+?) (?P<method>(?:Subagent )?Complete\w*(?: \(via \w+\))?) (?P<thinking>on|off) .+")
    found = [
        row.fullmatch(line) for line in table.splitlines()[2:] if line.strip() and not line.startswith("Call site")
    ]
    assert all(found)
    return {one["name"]: (one["method"], one["thinking"]) for one in found if one}
