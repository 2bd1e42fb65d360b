"""Every verb of a space that changes something leaves an entry, and none is forgotten: a new one fails here."""

from __future__ import annotations

import inspect
import secrets
from datetime import UTC, datetime

from perdure import Memory, Message, Space
from perdure.fact_types import Participant, Persona, TurnState
from perdure.types import SourceItem

READ: frozenset[str] = frozenset(
    {
        *("recall", "context", "inspect_context", "savings", "search", "why_not", "task_recall", "consult"),
        *("get", "evidence", "history", "list", "pruned", "facts", "fact", "fact_history", "documents", "document"),
        *("search_documents", "personas", "person", "people", "checkpoint", "stats", "usage"),
        *("failed", "failed_context", "identity", "traits", "cognition_runs", "cognition_run", "preview_forget"),
    }
)
"""They change nothing that anybody could read, or count use alone."""
COUNTED = frozenset({"feedback"})
"""It counts use, like a recall that is captured."""
UNDER_OTHER_VERBS = frozenset(
    {
        *("drain", "upkeep", "think", "consolidate", "retriage"),  # drain, prune and conclude, if something was done
        "import_from",  # import_items
        *("forget_source", "forget_everything"),  # forget, forget_all_facts, delete_document
    }
)
VECTORS_ALONE = frozenset({"embed_documents"})


def audited() -> set[str]:
    every = {name for name, _ in inspect.getmembers(Space, inspect.iscoroutinefunction) if name[0] != "_"}
    return every - READ - COUNTED - UNDER_OTHER_VERBS - VECTORS_ALONE


ELSEWHERE = frozenset({"restore", "undo_run", "replay_failed", "drop_failed", "update_long_term_memory"})
"""They need a model, or something that failed."""


async def test_every_verb_that_changes_something_leaves_an_entry(memory: Memory) -> None:
    space = memory.space(f"every-{secrets.token_hex(4)}")
    me = Participant("u1", "Ada")
    state = TurnState("guild", "general", Persona(10_000, "Momo"), me, (me,))
    one, two = [(await space.save(text)).ids[0] for text in ("The cat sleeps", "The dog barks")]
    await space.update(one, text="The cat is awake")
    await space.pin(one)
    await space.forget(two)
    await space.capture(user="I like pears")
    await space.archive([{"role": "user", "content": "I like plums"}])
    await space.bootstrap("Ada is a sailor")
    await space.import_messages([Message("I like figs", "m1")], source="file")
    mail = SourceItem("email", "mail-1", "Come to the harbour", datetime(2026, 3, 1, tzinfo=UTC))
    await space.import_items([mail], source="box")
    await space.set_task("mend the boat")
    await space.persona("Momo")
    await space.set_person("u1", name="Ada")
    await space.set_personalised("u1", "guild", personalised=True)
    await space.set_server("guild", self_teaching_enabled=True)
    fact = await space.remember("Ada sails")
    await space.create_long_term_memory(state, {"memory_content": "Ada rows", "memory_scope": "server_wide"})
    await space.edit_fact(fact.id, content="Ada sails alone")
    await space.pin_fact(fact.id)
    await space.restore_fact(fact.id, revision=1)
    document = (await space.add_document(b"All about boats.", name="boats.txt")).document
    await space.replace_document(document.id, b"All about ships.")
    await space.delete_document(document.id)
    await space.forget_fact(fact.id)
    await space.forget_person("u1")
    await space.forget_all_facts()
    kinds = {entry.kind for entry in await memory.audit(space.name, limit=1000)}
    assert audited() - ELSEWHERE - kinds == set()
