"""What quotes a forgotten text: in what waits to be worked off, in what was given up, in the tasks at hand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import regex

from perdure.rules.quoting import quotes as quoted
from perdure.store.database import SpaceTransaction
from perdure.store.quotes import FAILED, holding, known_terms, rewrite, tasks_holding
from perdure.store.tally import Tally
from perdure.store.tasks import drop_task
from perdure.text import NO_SPACES, fold, has_letter_or_digit, terms

QUOTED: Final = "it quoted what was forgotten"
LOOKED_FOR: Final = 8
"""Words by which rows that may quote are found, the longest: each is looked for in all that waits."""
MOST_WORDS: Final = 400
"""Words of a long text of which it is asked whether anything else says them."""
LONG_CHARS: Final = 12
"""A text of fewer characters ("yes", "ok thanks") is quoted only by what says nothing else."""
_NAMES: Final = frozenset(
    {"operation_id", "external_id", "series", "source", "conversation_id", "name", "speaker", "role", "kind", "at"}
)
"""Fields of a payload that name something rather than say it."""
_RUN: Final = regex.compile(
    rf"(?V1)(?P<thai>\p{{Script=Thai}}++)|(?P<unspaced>[{NO_SPACES}--\p{{Script=Thai}}]++)|\p{{Script=Hangul}}++"
    rf"|[[^\W_]--{NO_SPACES}--\p{{Script=Hangul}}]++"
)
_THAI_CHARS: Final = 3
_SIGNS: Final = 2
"""What is looked for in scripts without spaces: what `terms` tells apart, three characters of Thai, else two signs."""


async def erase_quotes(tx: SpaceTransaction, text: str, audiences: Collection[str | None]) -> Tally:
    """Takes what quotes an erased text out of what waits or was given up: its words that no memory holds any more.

    Of these audiences alone: what somebody else said in the same words is theirs.
    """
    tally = Tally()
    spelled = _spelled(text)
    known = await known_terms(tx, sorted({term for found in spelled.values() for term in found}))
    own = {word: found for word, found in spelled.items() if not known.intersection(found)}
    quotes = _quoting(text, {term for found in own.values() for term in found})
    mentions = [fold(word) for word in own]
    looked_for = sorted(own, key=lambda word: (-len(word), word))[:LOOKED_FOR]
    for row in await holding(tx, looked_for, audiences):
        error = row.error
        if error and any(word in fold(error) for word in mentions):
            error = QUOTED
        left = _left_of(row.table, row.kind, row.payload, quotes, mentions)
        if left != row.payload or error != row.error:
            await rewrite(tx, row, left, error)
            (tally.removed if left is None else tally.rewritten)[row.table] += 1
    for audience, task in await tasks_holding(tx, looked_for, audiences):
        if quotes(task):
            await drop_task(tx, audience)
            tally.removed["current_tasks"] += 1
    return tally


def _spelled(text: str) -> dict[str, list[str]]:
    """What a text says word by word, each with its terms; of scripts without spaces pieces of words."""
    words: dict[str, list[str]] = {}
    telling = set(terms(text))
    for run in _RUN.finditer(text):
        pieces = _pieces(run)
        for piece in pieces:
            # By itself "the" is a term, too; no memory holds it, and it would count as this one's own.
            found = [term for term in terms(piece) if term in telling]
            if found and piece not in words and len(words) < MOST_WORDS:
                # A single sign of a piece stands in too much else to tell anything.
                words[piece] = found if len(pieces) == 1 else found[:1]
    return words


def _pieces(run: regex.Match[str]) -> list[str]:
    if run["thai"]:
        return _overlapping(list(run[0]), _THAI_CHARS)
    return _overlapping(regex.findall(r"\X", run[0]), _SIGNS) if run["unspaced"] else [run[0]]


def _overlapping(units: Sequence[str], size: int) -> list[str]:
    return ["".join(units[at : at + size]) for at in range(max(1, len(units) - size + 1))]


def _quoting(text: str, own: set[str]) -> Callable[[str], bool]:
    """Whether another text holds this one, or quotes it by the words that only it held."""
    whole = " ".join(fold(text).split())

    def quotes(other: str) -> bool:
        said = " ".join(fold(other).split())
        return said == whole or (len(whole) >= LONG_CHARS and whole in said) or quoted(own, set(terms(other)))

    return quotes


def _left_of(
    table: str, kind: str, held: Mapping[str, Any], quotes: Callable[[str], bool], mentions: Sequence[str]
) -> Mapping[str, Any] | None:
    """What is left of a row without what quotes; None where there is nothing left to be done."""
    if table != FAILED:
        return left_of_payload(kind, held, quotes)
    payload = left_of_payload(kind, held["payload"], quotes)
    if payload is None:
        return None
    left = {**held, "payload": payload}
    if any(word in fold(str(held.get("answer", ""))) for word in mentions):
        left["answer"] = QUOTED
    return left


def left_of_payload(kind: str, payload: Mapping[str, Any], quotes: Callable[[str], bool]) -> Mapping[str, Any] | None:
    left = _without(payload, quotes)
    assert isinstance(left, dict)
    if left == payload:
        return payload
    if kind == "archive":
        left["messages"] = [message for message in left["messages"] if has_letter_or_digit(message["text"])]
        return left if left["messages"] else None
    if kind == "conversation":
        return left if any(has_letter_or_digit(left.get(side) or "") for side in ("user", "assistant")) else None
    return left if has_letter_or_digit(str(left.get("text", ""))) else None


def without_messages(table: str, held: Mapping[str, Any], speakers: Collection[str]) -> Mapping[str, Any] | None:
    """What is left of an archive that waits, or was given up, without what these speakers said in it."""
    payload = held["payload"] if table == FAILED else held
    messages = [each for each in payload["messages"] if each.get("speaker") not in speakers]
    if not messages:
        return None
    left = {**payload, "messages": messages}
    if table != FAILED:
        return left
    # What a model answered was about all of them.
    return {name: value for name, value in held.items() if name != "answer"} | {"payload": left}


def _without(value: object, quotes: Callable[[str], bool]) -> object:
    """JSON with every text that quotes left empty."""
    if isinstance(value, str):
        return "" if quotes(value) else value
    if isinstance(value, dict):
        return {name: item if name in _NAMES else _without(item, quotes) for name, item in value.items()}
    return [_without(item, quotes) for item in value] if isinstance(value, list) else value
