"""Forgetting: a memory, what it was made of and what was made of it are erased, and whatever else holds their words.

What only waits to be worked off keeps what it says besides: of an exchange or an archive the messages go that quote
what is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import regex

from perdure.ingest.conclusions import bring_back, is_card, take_out_of
from perdure.ingest.keys import stored_postings
from perdure.ingest.old_news import keep_trace_of, trace
from perdure.ingest.revisions import REVISED
from perdure.ingest.saving import MEMORY, require_row
from perdure.ingest.triage import RETRIAGED
from perdure.resources import Resources
from perdure.rules.audience import may_see
from perdure.rules.quoting import quotes as quoted
from perdure.rules.verdicts import DUPLICATE
from perdure.store.audit import note
from perdure.store.bygone import bygone, keep_traces, pruned_with
from perdure.store.database import SpaceTransaction
from perdure.store.erasing import erase
from perdure.store.evidence import made_of, said_before
from perdure.store.memories import MemoryRow, read_evidence, read_rows, siblings
from perdure.store.quotes import FAILED, holding, known_terms, rewrite
from perdure.store.spaces import SpaceRow, lock_space
from perdure.text import NO_SPACES, fold, has_letter_or_digit, terms
from perdure.types import Id

SAYS_THE_SAME: Final = (RETRIAGED, REVISED, f"{DUPLICATE}: %")
"""Reasons of tombstones that say what took their place, as LIKE patterns."""
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


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an erasure removed: ids of the memories, all chunks included. None of their words are kept anywhere."""

    ids: tuple[Id, ...]


async def forget_memories(resources: Resources, space: SpaceRow, ids: Sequence[int], audience: str | None) -> Receipt:
    """Erases memories with their sibling chunks, postings, vectors, evidence and history. Irreversible.

    With them go what was concluded from one of them (a transition; of the identity card the lines that rest on nothing
    else), what said the same before them (an original that was judged later, a duplicate, an earlier revision), and
    their words in queues, failures, reasons and excerpts. What was said before and arrives later in the same words
    doesn't bring them back; told anew they are news.

    Raises:
        NotFound: one of the ids is not there for this audience; nothing is erased then.
    """

    async def write(tx: SpaceTransaction) -> Receipt:
        await lock_space(tx)
        await _require(tx, space, ids, audience)
        rows, purged, cards = await _all_of_it(tx, space, ids)
        gone = list(rows.values())
        former = await bygone(tx, purged)
        texts = dict.fromkeys([text for row in gone for text in await _texts(tx, row)])
        texts |= dict.fromkeys(each.summary for each in former.values())
        await keep_trace_of(tx, space, gone, made_of=MEMORY)
        await keep_traces(tx, {trace(space, each.audience, each.summary) for each in former.values()})
        await bring_back(tx, space, list(rows))
        baseless = await take_out_of(tx, cards, [*rows, *purged])
        await erase(tx, gone, [stored_postings(row) for row in gone], purged)
        await note(tx, "forget", sorted({*rows, *purged}))
        for text in texts:
            told_to = {row.memory.audience for row in gone} | {each.audience for each in former.values()}
            await _erase_quotes(tx, text, {audience, *told_to})
        seen = {each for each, row in rows.items() if may_see(audience, row.memory.audience)}
        seen |= {each for each, last in former.items() if may_see(audience, last.audience)}
        return Receipt(tuple(sorted(seen.union(baseless))))

    return await resources.database.in_space(space.id, write, writer=True)


async def _require(tx: SpaceTransaction, space: SpaceRow, ids: Sequence[int], audience: str | None) -> None:
    """Raises NotFound unless this audience may see all of these, as they are or, of what was pruned, as they were."""
    stored = await read_rows(tx, space.name, ids)
    former = await bygone(tx, [each for each in ids if each not in stored])
    for memory_id in ids:
        if memory_id not in former or not may_see(audience, former[memory_id].audience):
            await require_row(tx, space, memory_id, audience)


async def _all_of_it(
    tx: SpaceTransaction, space: SpaceRow, ids: Sequence[int]
) -> tuple[dict[int, MemoryRow], list[int], list[MemoryRow]]:
    """All chunks of these texts, of what was made of them and of what said the same; ids of what is only history.

    Versions of the identity card come by themselves, unless they were asked for: they rest on much else.
    """
    rows: dict[int, MemoryRow] = {}
    cards: dict[int, MemoryRow] = {}
    purged: set[int] = set()
    wanted = set(ids)
    while wanted:
        found = await read_rows(tx, space.name, await siblings(tx, sorted(wanted)))
        bygones = sorted(wanted - set(found))
        purged.update(bygones)
        cards.update((each, row) for each, row in found.items() if is_card(row) and each not in ids)
        found = {each: row for each, row in found.items() if each not in cards}
        rows.update(found)
        every = sorted(wanted | set(found))
        wanted = {*await made_of(tx, [*found, *bygones]), *await said_before(tx, every, SAYS_THE_SAME)}
        wanted.update(await pruned_with(tx, [*found, *bygones]))
        wanted.update(
            row.memory.superseded_by
            for row in found.values()
            if row.memory.superseded_by is not None and row.memory.superseded_reason == RETRIAGED
        )
        wanted -= {*rows, *cards, *purged}
    return rows, sorted(purged), list(cards.values())


async def _texts(tx: SpaceTransaction, row: MemoryRow) -> list[str]:
    """What a memory says, and what it shows of what it rests on."""
    excerpts = [item.excerpt for item in await read_evidence(tx, row.memory.id) if item.kind != MEMORY]
    return [row.memory.summary, *filter(None, excerpts)]


# --- quotations -------------------------------------------------------------------------------------------------------


async def _erase_quotes(tx: SpaceTransaction, text: str, audiences: Collection[str | None]) -> None:
    """Takes what quotes an erased text out of what waits or was given up: its words that no memory holds any more.

    Of these audiences alone: what somebody else said in the same words is theirs.
    """
    spelled = _spelled(text)
    known = await known_terms(tx, sorted({term for found in spelled.values() for term in found}))
    own = {word: found for word, found in spelled.items() if not known.intersection(found)}
    quotes = _quoting(text, {term for found in own.values() for term in found})
    mentions = [fold(word) for word in own]
    for row in await holding(tx, sorted(own, key=lambda word: (-len(word), word))[:LOOKED_FOR], audiences):
        error = row.error
        if error and any(word in fold(error) for word in mentions):
            error = QUOTED
        await rewrite(tx, row, _left_of(row.table, row.kind, row.payload, quotes, mentions), error)


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
        return _left_of_payload(kind, held, quotes)
    payload = _left_of_payload(kind, held["payload"], quotes)
    if payload is None:
        return None
    left = {**held, "payload": payload}
    if any(word in fold(str(held.get("answer", ""))) for word in mentions):
        left["answer"] = QUOTED
    return left


def _left_of_payload(kind: str, payload: Mapping[str, Any], quotes: Callable[[str], bool]) -> Mapping[str, Any] | None:
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


def _without(value: object, quotes: Callable[[str], bool]) -> object:
    """JSON with every text that quotes left empty."""
    if isinstance(value, str):
        return "" if quotes(value) else value
    if isinstance(value, dict):
        return {name: item if name in _NAMES else _without(item, quotes) for name, item in value.items()}
    return [_without(item, quotes) for item in value] if isinstance(value, list) else value
