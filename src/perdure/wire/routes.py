"""Every verb of a space as a request: what the server offers and the client asks, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from perdure.acting import Scope

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True, slots=True)
class Route:
    """A verb of `Space` under its path below `/v1/spaces/{space}`.

    Attributes:
        verb: the name of the method. scope: who may call it.
        paged: what the list of a page is sorted by; the others come whole.
        created: an outcome that made something is answered with 201, one that only waits with 202.
    """

    verb: str
    method: Method
    path: str
    scope: Scope
    tag: str
    paged: bool = False
    created: bool = False


_R, _W, _A = Scope.READ, Scope.WRITE, Scope.ADMIN

ROUTES: Final = (
    # One turn
    Route("recall", "POST", "/recall", _R, "turn"),
    Route("context", "POST", "/context", _R, "turn"),
    Route("inspect_context", "POST", "/context/inspect", _R, "turn"),
    Route("capture", "POST", "/capture", _W, "turn", created=True),
    Route("feedback", "POST", "/feedback", _W, "turn"),
    Route("set_task", "PUT", "/task", _W, "turn"),
    Route("task_recall", "GET", "/task", _R, "turn"),
    Route("savings", "GET", "/context/savings", _R, "turn"),
    # Memories
    Route("search", "POST", "/search", _R, "memories"),
    Route("save", "POST", "/memories", _W, "memories", created=True),
    Route("list", "GET", "/memories", _R, "memories", paged=True),
    Route("pruned", "GET", "/memories/pruned", _R, "memories"),
    Route("forget", "POST", "/memories/forget", _W, "memories"),
    Route("preview_forget", "POST", "/memories/forget/preview", _R, "memories"),
    Route("forget_source", "POST", "/memories/forget-source", _W, "memories"),
    Route("forget_everything", "POST", "/forget-everything", _A, "memories"),
    Route("get", "GET", "/memories/{memory_id}", _R, "memories"),
    Route("update", "PATCH", "/memories/{memory_id}", _W, "memories"),
    Route("evidence", "GET", "/memories/{memory_id}/evidence", _R, "memories"),
    Route("history", "GET", "/memories/{memory_id}/history", _R, "memories"),
    Route("pin", "PUT", "/memories/{memory_id}/pin", _W, "memories"),
    Route("restore", "POST", "/memories/{memory_id}/restore", _W, "memories"),
    Route("why_not", "POST", "/memories/{memory_id}/why-not", _R, "memories"),
    # Words in
    Route("archive", "POST", "/archive", _W, "intake", created=True),
    Route("bootstrap", "POST", "/bootstrap", _W, "intake", created=True),
    Route("import_messages", "POST", "/messages", _W, "intake"),
    Route("import_items", "POST", "/items", _W, "intake"),
    Route("checkpoint", "GET", "/checkpoint", _R, "intake"),
    Route("retriage", "POST", "/retriage", _W, "intake"),
    # Self-taught facts
    Route("remember", "POST", "/facts", _W, "facts", created=True),
    Route("facts", "GET", "/facts", _R, "facts", paged=True),
    Route("forget_all_facts", "DELETE", "/facts", _A, "facts"),
    Route("forget_fact", "POST", "/facts/forget", _W, "facts"),
    Route("create_long_term_memory", "POST", "/facts/create", _W, "facts"),
    Route("update_long_term_memory", "POST", "/facts/update", _W, "facts"),
    Route("fact", "GET", "/facts/{fact_id}", _R, "facts"),
    Route("edit_fact", "PATCH", "/facts/{fact_id}", _W, "facts"),
    Route("fact_history", "GET", "/facts/{fact_id}/history", _R, "facts"),
    Route("pin_fact", "PUT", "/facts/{fact_id}/pin", _W, "facts"),
    Route("restore_fact", "POST", "/facts/{fact_id}/restore", _W, "facts"),
    # Who is who
    Route("persona", "POST", "/personas", _W, "people"),
    Route("personas", "GET", "/personas", _R, "people"),
    Route("people", "GET", "/people", _R, "people"),
    Route("person", "GET", "/people/{user_id}", _R, "people"),
    Route("set_person", "PATCH", "/people/{user_id}", _W, "people"),
    Route("forget_person", "DELETE", "/people/{user_id}", _W, "people"),
    Route("set_personalised", "PUT", "/people/{user_id}/servers/{server_id}", _W, "people"),
    Route("set_server", "PUT", "/servers/{server_id}", _W, "people"),
    # Documents
    Route("add_document", "POST", "/documents", _W, "documents", created=True),
    Route("documents", "GET", "/documents", _R, "documents", paged=True),
    Route("search_documents", "POST", "/documents/search", _R, "documents"),
    Route("embed_documents", "POST", "/documents/embed", _W, "documents"),
    Route("document", "GET", "/documents/{document_id}", _R, "documents"),
    Route("replace_document", "PUT", "/documents/{document_id}", _W, "documents"),
    Route("delete_document", "DELETE", "/documents/{document_id}", _W, "documents"),
    # Conclusions and forgetting
    Route("think", "POST", "/cognition/think", _A, "cognition"),
    Route("consolidate", "POST", "/cognition/consolidate", _W, "cognition"),
    Route("consult", "POST", "/cognition/consult", _R, "cognition"),
    Route("identity", "GET", "/cognition/identity", _R, "cognition"),
    Route("traits", "GET", "/cognition/traits", _R, "cognition"),
    Route("cognition_runs", "GET", "/cognition/runs", _R, "cognition", paged=True),
    Route("cognition_run", "GET", "/cognition/runs/{run_id}", _R, "cognition"),
    Route("undo_run", "POST", "/cognition/runs/{run_id}/undo", _W, "cognition"),
    Route("upkeep", "POST", "/upkeep", _A, "operations"),
    # Operating
    Route("drain", "POST", "/drain", _A, "operations"),
    Route("stats", "GET", "/stats", _R, "operations"),
    Route("usage", "GET", "/usage", _R, "operations"),
    Route("failed", "GET", "/failed", _R, "operations", paged=True),
    Route("replay_failed", "POST", "/failed/replay", _A, "operations"),
    Route("drop_failed", "POST", "/failed/drop", _A, "operations"),
    Route("failed_context", "GET", "/failed/{failed_id}", _A, "operations"),
)
"""All verbs; the order decides where two paths fit one request: the more definite comes first."""

PAGE_ENDS: Final = frozenset({"before", "after"})
"""What verbs call the last one of the page before; a request has a cursor for it."""

NOT_OFFERED: Final = {"import_from": "reads a mailbox or calendar where it is called, and hands in what it finds"}
"""Verbs without a route of their own, and why."""
