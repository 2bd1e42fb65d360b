"""Language models: who is asked (roles, slots, dialects) and what is asked (prompts, schemas)."""

from __future__ import annotations

from perdure.llm.call_sites import CALL_SITES, CallSite, Mode, Role
from perdure.llm.models import Answer, Models, RoleState
from perdure.llm.port import GrammarSubagentFunc, LanguageModel, Reply, SynthesizeFunc
from perdure.llm.prompting import Prompt, render
from perdure.llm.reasoning import split_reasoning
from perdure.llm.reranking import RerankEndpoint
from perdure.llm.usage import Ledger, ModelUse

__all__ = [
    "CALL_SITES",
    "Answer",
    "CallSite",
    "GrammarSubagentFunc",
    "LanguageModel",
    "Ledger",
    "Mode",
    "ModelUse",
    "Models",
    "Prompt",
    "Reply",
    "RerankEndpoint",
    "Role",
    "RoleState",
    "SynthesizeFunc",
    "render",
    "split_reasoning",
]
