"""Which role answers which question, in which mode: the mission's table "Thinking Mode by Call Site", as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from pydantic import BaseModel

from perdure.llm import conclusions, schemas


class Role(StrEnum):
    """`thinker`: large, few slots. `subagent`: small, several slots."""

    THINKER = "thinker"
    SUBAGENT = "subagent"


class Mode(StrEnum):
    """The mission's Complete, CompleteNoThink and CompleteWithGrammar."""

    COMPLETE = "complete"
    COMPLETE_NO_THINK = "complete_no_think"
    COMPLETE_WITH_GRAMMAR = "complete_with_grammar"


@dataclass(frozen=True, slots=True)
class CallSite:
    """One row of the table.

    Attributes:
        name: what usage is counted under.
        role: who is asked; `fallback`, if any, is asked when that role is not configured or not available.
        thinking: whether the model may reason before it answers.
        max_tokens: most tokens of an answer. With a grammar the longest answer the grammar admits fits (a test
            counts); where thinking is on, the reasoning is part of it.
        deadline_s: seconds for one call; a turn waits for those of 10 s, and for them waiting for a slot is included.
        schema: what the answer has to be; None for prose.
    """

    name: str
    role: Role
    mode: Mode
    max_tokens: int
    deadline_s: float
    schema: type[BaseModel] | None = None
    fallback: Role | None = None

    @property
    def thinking(self) -> bool:
        return self.mode is Mode.COMPLETE


_T, _S = Role.THINKER, Role.SUBAGENT
_ROWS: Final = (
    CallSite("consult_deep_thinker", _T, Mode.COMPLETE, 8192, 300),
    # The mission's text gives triage to the thinker, its table to the subagent: the thinker is asked first.
    CallSite("triage", _T, Mode.COMPLETE_WITH_GRAMMAR, 3072, 120, schemas.TriageVerdict, fallback=_S),
    CallSite("distillation", _S, Mode.COMPLETE_WITH_GRAMMAR, 5120, 180, schemas.DistilledFacts),
    CallSite("quality", _S, Mode.COMPLETE_WITH_GRAMMAR, 2048, 60, schemas.QualityScore),
    CallSite("contradiction", _S, Mode.COMPLETE_WITH_GRAMMAR, 768, 60, schemas.ContradictionVerdict),
    CallSite("entities", _S, Mode.COMPLETE_WITH_GRAMMAR, 2048, 60, schemas.ExtractedEntities),
    CallSite("usefulness", _S, Mode.COMPLETE_WITH_GRAMMAR, 128, 10, schemas.Usefulness),
    CallSite("rewrite", _S, Mode.COMPLETE_WITH_GRAMMAR, 1024, 10, schemas.Rewrites),
    CallSite("rerank", _S, Mode.COMPLETE_WITH_GRAMMAR, 256, 10, schemas.Ranking),
    CallSite("consolidation", _T, Mode.COMPLETE_NO_THINK, 4096, 180, conclusions.Consolidated),
    CallSite("plan_decomposition", _T, Mode.COMPLETE_NO_THINK, 2048, 120),
    CallSite("replanning", _T, Mode.COMPLETE_NO_THINK, 2048, 120),
    CallSite("complex_plan_step", _T, Mode.COMPLETE, 8192, 300),
    CallSite("bootstrap", _T, Mode.COMPLETE, 8192, 300, schemas.BootstrapProfile),
    CallSite("transition", _T, Mode.COMPLETE, 4096, 180),
    CallSite("episode", _T, Mode.COMPLETE_NO_THINK, 2048, 120, conclusions.EpisodeSummary),
    CallSite("reflection", _T, Mode.COMPLETE, 8192, 300, conclusions.Reflected),
)

CALL_SITES: Final[Mapping[str, CallSite]] = MappingProxyType({site.name: site for site in _ROWS})
