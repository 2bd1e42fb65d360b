"""What `perdure doctor` says about language models: which role answers, what it gives, and what is off without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.cli.finding import Finding
from perdure.errors import PerdureError
from perdure.llm import Ledger

if TYPE_CHECKING:
    from perdure.llm import Models, RerankEndpoint, RoleState

HOW = "Set {urls}; docs/models.md shows it for llama.cpp and Ollama in three lines."


RERANKER_S = 5.0
"""How long the reranker may take for one short text."""


async def examine_models(models: Models) -> list[Finding]:
    """One finding per role, one for the reranker if there is one, and one for what is off."""
    reranker = [] if models.reranker is None else [await _reranker(models.reranker)]
    return [*await _examine_roles(models), *reranker]


async def _reranker(endpoint: RerankEndpoint) -> Finding:
    where = f"{endpoint.model or 'the model that the server has'} at {endpoint.url}"
    try:
        await endpoint.scores("boat", ["a boat"], ledger=Ledger(), seconds=RERANKER_S)
    except PerdureError as error:
        return Finding("reranker", "fail", f"{where}: {error.message}", error.hint)
    return Finding("reranker", "ok", f"{where} puts the hits of searches in order", None)


async def _examine_roles(models: Models) -> list[Finding]:
    states = await models.roles()
    off = models.off()
    if all(state.url is None for state in states):
        detail = f"none configured: exchanges are kept verbatim; off: {', '.join(off)}"
        return [
            Finding("language models", "ok", detail, HOW.format(urls="PERDURE_THINKER_URL and PERDURE_SUBAGENT_URL"))
        ]
    found = [_role(state) for state in states]
    if off:
        found.append(Finding("off without a role", "warn", ", ".join(off), None))
    return found


def _role(state: RoleState) -> Finding:
    if state.url is None:
        return Finding(
            str(state.role), "ok", "not configured", HOW.format(urls=f"PERDURE_{str(state.role).upper()}_URL")
        )
    model = state.model or "the model that the server lists"
    where = f"{model} at {state.url} ({state.dialect or 'dialect not known yet'}, slots: {state.slots})"
    if not state.reachable:
        detail = f"{where}: {state.problem}"
        return Finding(str(state.role), "fail", detail, "What needs it waits in the queue; nothing is lost.")
    gives = f"answers {', '.join(state.gives)}" if state.gives else "is asked for nothing: the other role answers"
    if state.breaker != "closed":
        return Finding(str(state.role), "warn", f"{where} rests after failures: {state.problem}", None)
    return Finding(str(state.role), "ok", f"{where} {gives}")
