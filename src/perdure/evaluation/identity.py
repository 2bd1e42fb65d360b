"""What a measurement depends on, as short names: spaces and answers are only used again where nothing has changed.

Code is named by its source, so that a space which an older version of Perdure stored is imported anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from perdure.evaluation.cache import key_of
from perdure.text import truncate_bytes

if TYPE_CHECKING:
    from perdure.connect import Question
    from perdure.resources import Resources
    from perdure.rules.ranking import RankingProfile
    from perdure.types import Message

STORING: Final = ("ingest", "text", "store", "rules/chunking.py", "rules/facets.py")
"""What decides how a message is stored."""
ANSWERING: Final = (*STORING, "recall", "rules", "embedding")
"""What decides how a question is answered."""

_NAME_BYTES: Final = 150
_DIGITS: Final = 12


def schema() -> str:
    """The name of the database's shape: each has a database of its own in a cache, since nothing in it is precious."""
    return code(("store/migrations",))[:_DIGITS]


@cache
def code(parts: tuple[str, ...]) -> str:
    """The name of these parts of the installed package."""
    package = Path(__file__).parents[1]
    files: list[Path] = []
    for part in parts:
        where = package / part
        files += [where] if where.is_file() else [*where.rglob("*.py"), *where.rglob("*.sql")]
    return key_of(*(text for file in sorted(set(files)) for text in (file.name, file.read_text("utf-8"))))


def space_name(set_name: str, conversation: str, messages: Iterable[Message], resources: Resources) -> str:
    """The space that these messages, stored by this code with this embedder, are in."""
    told = (f"{m.external_id}\0{m.text}\0{m.speaker}\0{m.occurred_at}\0{m.conversation_id}" for m in messages)
    content = key_of(code(STORING), resources.family.name, str(resources.settings.max_chunk_bytes), *told)
    return f"{truncate_bytes(f'eval:{set_name}:{conversation}', _NAME_BYTES)}:{content[:_DIGITS]}"


def run_key(set_name: str, profile: RankingProfile, resources: Resources) -> str:
    """Runs of one key give the same answers."""
    return key_of(code(ANSWERING), set_name, repr(profile), resources.family.name)


def question_key(space: str, question: Question) -> str:
    """A question about a space, as `space_name` names it."""
    return key_of(space, question.text, str(question.time), *question.evidence, "", *question.evidence_sessions)
