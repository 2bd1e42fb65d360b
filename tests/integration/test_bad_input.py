"""Bad input at every entrance of a space: an error that names field, value and limit, and nothing is written."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure import EmbeddingFailed, InvalidInput, Memory, Message, Pending, Space
from perdure.embedding import Kind, Matrix
from perdure.errors import shown
from perdure.ingest import ToolResult
from perdure.store.embedded import ServerUrls
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.test_saving import everything_stored

Call = Callable[[Any, Any], Awaitable[object]]

LONG = "x" * 1_000_000
LONE = "a\ud800b"
DEEP: dict[str, object] = {}
for _ in range(3000):
    DEEP = {"a": DEEP}

NO_TEXT: list[object] = [None, 7, b"words", ["words"], "", " \n\t", "\0\0", "\ud800", LONG]
NO_NAME: list[object] = ["", " ", "\0", "\u200b", "a\nb", "é" * 101, LONG, 7, ["Ada"]]
NO_KEY: list[object] = [*NO_NAME, "a\0b", LONE, "ada\u202e", "\u2066ada"]
NO_LABELS: list[object] = [7, [7], [""], ["\u200b"], [LONG], [str(n) for n in range(33)]]
NO_METADATA: list[object] = ["x", [1], {1: 2}, {"k": float("nan")}, {"k" * 6000: 1}, {"k": LONG}, DEEP]
NO_TIME: list[object] = ["soon", "", 7, "0001-01-01", "9999-12-31", datetime(1, 1, 1), LONG]  # noqa: DTZ001
NO_ID: list[object] = [0, -1, True, 1.5, "first", "9" * 5000, 2**63, None]
NO_FLAG: list[object] = ["no", 1, None]
NO_SALIENCE: list[object] = [True, "8", 0, 101, float("nan"), LONG]
NO_TYPE: list[object] = ["rumour", 5, ["fact"], LONG]

ENTRANCES: dict[str, tuple[Call, list[object]]] = {
    "save text": (lambda s, v: s.save(v), NO_TEXT),
    "save salience": (lambda s, v: s.save("fine", salience=v), NO_SALIENCE),
    "save memory_type": (lambda s, v: s.save("fine", memory_type=v), NO_TYPE),
    "save tags": (lambda s, v: s.save("fine", tags=v), NO_LABELS),
    "save entities": (lambda s, v: s.save("fine", entities=v), NO_LABELS),
    "save speaker": (lambda s, v: s.save("fine", speaker=v), NO_NAME),
    "save conversation_id": (lambda s, v: s.save("fine", conversation_id=v), NO_NAME),
    "save source_date": (lambda s, v: s.save("fine", source_date=v), NO_TIME),
    "save metadata": (lambda s, v: s.save("fine", metadata=v), NO_METADATA),
    "save pinned": (lambda s, v: s.save("fine", pinned=v), NO_FLAG),
    "save operation_id": (lambda s, v: s.save("fine", operation_id=v), NO_KEY),
    "capture user": (lambda s, v: s.capture(user=v), [7, b"hello", ["hello"], "\0", "\ud800", LONG]),
    "capture assistant": (lambda s, v: s.capture(user="hello", assistant=v), [7, b"hello", "\ud800", LONG]),
    "capture tools": (
        lambda s, v: s.capture(user="hello", tools=v),
        ["abc", b"abc", 7, {"name": "x"}, [{"name": "x", "content": "c"}] * 65],
    ),
    "capture tools[1]": (
        lambda s, v: s.capture(user="hello", tools=[{"name": "x", "content": "c"}, v]),
        [None, "abc", 7, ["x", "c"]],
    ),
    "capture tools[0].name": (
        lambda s, v: s.capture(user="hello", tools=[{"name": v, "content": "some content"}]),
        ["\0", "\ud800", "a\nb", LONG, 7],
    ),
    "capture tools[0].content": (
        lambda s, v: s.capture(user="hello", tools=[ToolResult("x", v)]),
        [7, ["c"], LONG, "\0"],
    ),
    "capture tools[0].ok": (
        lambda s, v: s.capture(user="hello", tools=[{"name": "x", "content": "c", "ok": v}]),
        NO_FLAG,
    ),
    "capture tools[2].content": (lambda s, v: s.capture(user="hello", tools=[{"content": v}] * 30), ["c" * 200_000]),
    "capture speaker": (lambda s, v: s.capture(user="hello", speaker=v), NO_NAME),
    "capture conversation_id": (lambda s, v: s.capture(user="hello", conversation_id=v), NO_NAME),
    "capture occurred_at": (lambda s, v: s.capture(user="hello", occurred_at=v), NO_TIME),
    "capture operation_id": (lambda s, v: s.capture(user="hello", operation_id=v), NO_KEY),
    "capture recall": (lambda s, v: s.capture(user="hello", recall=v), ["x", [0], ["x"], 7, {1: 1}]),
    "capture incognito": (lambda s, v: s.capture(user="hello", incognito=v), NO_FLAG),
    "recall message": (lambda s, v: s.recall(v), NO_TEXT),
    "recall history": (lambda s, v: s.recall("Ada?", history=v), ["abc", ["abc"], 7, [None], {"role": "user"}]),
    "recall limit": (lambda s, v: s.recall("Ada?", limit=v), [0, 21, True, 1.0, "3"]),
    "recall deadline_s": (lambda s, v: s.recall("Ada?", deadline_s=v), [0, -1, 61, True, "x", float("nan")]),
    "search query": (lambda s, v: s.search(v), NO_TEXT),
    "search limit": (lambda s, v: s.search("Ada", limit=v), [0, 101, True, 1.0, "3"]),
    "search profile": (lambda s, v: s.search("Ada", profile=v), ["best", 7, ["seed"], LONG]),
    "search exact": (lambda s, v: s.search("Ada", exact=v), NO_FLAG),
    "search tags": (lambda s, v: s.search("Ada", tags=v), NO_LABELS),
    "search memory_type": (lambda s, v: s.search("Ada", memory_type=v), NO_TYPE),
    "search source": (lambda s, v: s.search("Ada", source=v), ["", "\0", LONG, 7]),
    "search speaker": (lambda s, v: s.search("Ada", speaker=v), NO_NAME),
    "search conversation_id": (lambda s, v: s.search("Ada", conversation_id=v), ["", LONG, 7]),
    "search metadata": (lambda s, v: s.search("Ada", metadata=v), NO_METADATA),
    "search since": (lambda s, v: s.search("Ada", since=v), NO_TIME),
    "search until": (lambda s, v: s.search("Ada", until=v), NO_TIME),
    "list limit": (lambda s, v: s.list(limit=v), [0, 1001, True, 1.0, "3"]),
    "list before": (lambda s, v: s.list(before=v), ["x", 7, Message("1", "no memory")]),
    "list superseded": (lambda s, v: s.list(superseded=v), NO_FLAG),
    "list speaker": (lambda s, v: s.list(speaker=v), NO_NAME),
    "get id": (lambda s, v: s.get(v), NO_ID),
    "evidence id": (lambda s, v: s.evidence(v), NO_ID),
    "history id": (lambda s, v: s.history(v), NO_ID),
    "forget id": (lambda s, v: s.forget(v), NO_ID),
    "forget ids": (lambda s, v: s.forget(*v), [()]),
    "pin id": (lambda s, v: s.pin(v), NO_ID),
    "pin pinned": (lambda s, v: s.pin(1, pinned=v), NO_FLAG),
    "update id": (lambda s, v: s.update(v, salience=5), NO_ID),
    "update text": (lambda s, v: s.update(1, text=v), NO_TEXT[1:]),
    "update salience": (lambda s, v: s.update(1, salience=v), NO_SALIENCE),
    "update memory_type": (lambda s, v: s.update(1, memory_type=v), NO_TYPE),
    "update tags": (lambda s, v: s.update(1, tags=v), NO_LABELS),
    "update metadata": (lambda s, v: s.update(1, metadata=v), NO_METADATA),
    "import source": (lambda s, v: s.import_messages([Message("1", "fine")], source=v), NO_NAME),
    "import messages": (lambda s, v: s.import_messages(v, source="chat"), ["abc", 7, {"id": 1}]),
    "drain timeout_s": (lambda s, v: s.drain(timeout_s=v), ["x", -1, float("nan"), True]),
}

MESSAGES: dict[str, list[object]] = {
    "external_id": ["", " ", "\u200b", "a\nb", "é" * 513, LONG, None, 7, "a\0b", LONE],
    "text": NO_TEXT,
    "speaker": NO_NAME,
    "conversation_id": NO_NAME,
    "occurred_at": [*NO_TIME, datetime(9999, 12, 31, tzinfo=UTC)],
}


@pytest.mark.parametrize("entrance", ENTRANCES)
async def test_a_bad_value_is_refused_by_field_and_limit_and_makes_no_space(
    memory: Memory, space: Space, entrance: str
) -> None:
    call, values = ENTRANCES[entrance]
    for value in values:
        with pytest.raises(InvalidInput) as caught:
            await call(space, value)
        assert caught.value.field == entrance.split(" ")[1], shown(value)
        assert caught.value.limit
        assert len(str(caught.value)) < 400
    assert await memory.find_space(space.name) is None


@pytest.mark.parametrize("entrance", ENTRANCES)
async def test_a_bad_value_changes_no_row_of_a_space_that_has_some(memory: Memory, space: Space, entrance: str) -> None:
    await space.save("Ada likes tea", tags=["taste"], metadata={"room": 7})
    before = await everything_stored(memory, space)
    call, values = ENTRANCES[entrance]
    for value in values:
        with pytest.raises(InvalidInput):
            await call(space, value)
    assert await everything_stored(memory, space) == before


@pytest.mark.parametrize("argument", ["space", "audience"])
@pytest.mark.parametrize("name", NO_KEY, ids=shown)
def test_a_space_and_an_audience_have_names_that_cannot_be_mistaken(
    memory: Memory, argument: str, name: object
) -> None:
    with pytest.raises(InvalidInput) as caught:
        memory.space(name) if argument == "space" else memory.space("ada", audience=name)  # type: ignore[arg-type]
    assert caught.value.field == argument


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in MESSAGES.items() for value in values], ids=shown
)
async def test_a_message_with_a_bad_field_is_refused_by_its_line_and_the_rest_goes_on(
    space: Space, field: str, value: object
) -> None:
    fields: dict[str, object] = {"external_id": "2", "text": "a bad one", "line": 2} | {field: value}
    messages = [Message("1", "before it", line=1), Message(**fields), Message("3", "after it", line=3)]  # type: ignore[arg-type]
    report = await space.import_messages(messages, source="chat")
    assert [(error.field, error.line) for error in report.refused] == [(field, 2)]
    assert (report.stored, report.seen) == (2, 3)
    assert {found.summary for found in await space.list()} == {"before it", "after it"}


async def test_what_is_no_message_is_refused_by_its_place_and_the_rest_goes_on(space: Space) -> None:
    report = await space.import_messages(
        [Message("1", "fine"), "no message", None, {"external_id": "4"}],  # type: ignore[list-item]
        source="chat",
    )
    assert [error.field for error in report.refused] == ["messages[1]", "messages[2]", "messages[3]"]
    assert (report.stored, report.seen) == (1, 4)


async def test_an_import_of_nothing_but_bad_messages_makes_no_space(memory: Memory, space: Space) -> None:
    report = await space.import_messages([Message("", "x"), Message("1", "")], source="chat")
    assert [error.field for error in report.refused] == ["external_id", "text"]
    assert await memory.find_space(space.name) is None


async def test_a_message_mended_in_its_file_is_imported_next_time(space: Space) -> None:
    await space.import_messages([Message("1", "fine", speaker="x" * 201)], source="chat")
    assert (await space.import_messages([Message("1", "fine", speaker="Ada")], source="chat")).stored == 1


async def test_the_longest_values_are_stored_found_by_filters_and_forgotten_whole(memory: Memory, space: Space) -> None:
    longest = {"k" * 200: secrets.token_hex(7000), "ﷺ" * 60: 1, "whole": 1e300, "zero": -0.0, "n": 7.0}
    outcome = await space.save(
        "Ada likes tea", tags=["ﷺ" * 33], entities=["㎯" * 33], speaker="ﷺ" * 66, metadata=longest
    )
    (memory_id,) = outcome.ids  # type: ignore[union-attr]
    filters: list[dict[str, object]] = [{"metadata": {name: value}} for name, value in longest.items()]
    filters += [{"tags": "ﷺ" * 33}, {"speaker": "ﷺ" * 66}, {"metadata": {"n": 7}}, {"metadata": {"zero": 0}}]
    for wanted in filters:
        assert [hit.memory.id for hit in (await space.search("tea", **wanted)).hits] == [memory_id]  # type: ignore[arg-type]
        assert [found.id for found in await space.list(**wanted)] == [memory_id]  # type: ignore[arg-type]
    assert await space.list(metadata={"k" * 200: longest["k" * 200] + "0"}) == ()  # type: ignore[operator]
    await space.forget(memory_id)
    left = await everything_stored(memory, space)
    wordless = {"space_state", "operations", "forgotten_texts", "audit_log"}
    assert {name for name, rows in left.items() if rows} <= wordless


async def test_the_longest_ids_and_names_of_an_import_are_stored_and_found(space: Space) -> None:
    source, talk = "李" * 66, "х" * 100
    message = Message("й" * 512, "Ada likes tea", speaker="李" * 66, conversation_id=talk)
    assert (await space.import_messages([message], source=source)).stored == 1
    assert (await space.import_messages([message], source=source)).known == 1
    (found,) = await space.list(source=f"import:{source}", speaker="李" * 66, conversation_id=talk)
    assert found.summary == "Ada likes tea"


async def test_an_exchange_at_its_limits_is_taken(space: Space) -> None:
    tools = [ToolResult("x" * 200, "c" * 1000)] * 64
    assert isinstance(await space.capture(user="hello", tools=tools), Pending)
    assert isinstance(await space.capture(user="u" * 262_144, assistant="a" * 262_144), Pending)


async def test_a_conversation_so_far_with_broken_characters_is_read(space: Space) -> None:
    await space.save("Ada likes tea")
    history: list[dict[str, object]] = [
        {"role": "user", "content": LONE},
        {"role": "user"},
        {"role": 7, "content": [{"text": "\0"}, 7]},
    ]
    for earlier in (history, None):
        assert (await space.recall("What does Ada like to drink?", history=earlier)).degraded == ()


class Careless(HashedEmbedder):
    """An embedder that answers with whatever `broken` makes of its vectors."""

    broken: Callable[[Matrix], object] = staticmethod(lambda vectors: vectors)

    async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        return self.broken(await super().embed(texts, kind))  # type: ignore[return-value]


BROKEN: dict[str, Callable[[Matrix], object]] = {
    "NaN": lambda vectors: vectors * np.nan,
    "infinite": lambda vectors: np.full_like(vectors, np.inf),
    "zeros": lambda vectors: vectors * 0,
    "one dimension too few": lambda vectors: vectors[:, :-1],
    "one vector too few": lambda vectors: vectors[:-1],
    "one vector too many": lambda vectors: np.repeat(vectors, 2, axis=0),
    "no vectors": lambda _: "abc",
    "nothing": lambda _: None,
    "of different lengths": lambda _: [[1.0], [1.0, 2.0]],
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
async def test_vectors_that_are_none_are_refused_and_nothing_is_written(
    urls: ServerUrls, broken: Callable[[Matrix], object]
) -> None:
    embedder = Careless()
    async with open_memory(urls, embedder) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        (memory_id,) = (await space.save("Ada likes tea")).ids  # type: ignore[union-attr]
        before = await everything_stored(memory, space)
        embedder.broken = broken
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: space.save("Ada likes coffee"),
            lambda: space.update(memory_id, text="Ada likes water"),
            lambda: space.import_messages([Message("1", "Ada likes milk")], source="chat"),
        ]
        for call in calls:
            with pytest.raises(EmbeddingFailed):
                await call()
        assert await everything_stored(memory, space) == before
        recalled = await space.recall("What does Ada like to drink?")
        assert [reason.split(":")[0] for reason in recalled.degraded] == ["embedding"]
        assert [hit.memory.id for hit in (await space.search("tea")).hits] == [memory_id]


async def test_a_vector_of_another_length_than_one_is_stored_as_its_direction(urls: ServerUrls) -> None:
    embedder = Careless()
    embedder.broken = lambda vectors: vectors * 9
    async with open_memory(urls, embedder) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        await space.save("Ada likes tea")
        (hit,) = (await space.search("Ada likes tea")).hits
        assert hit.similarity == pytest.approx(1.0, abs=0.05)


ANYTHING = st.text(st.characters(exclude_categories=()), max_size=60) | st.text(
    st.sampled_from("a\0\ud800\udc00\u200b\u202e\u0301\u0e33אﷺ👩\u200d\n\r\t|&!'\"\\%{}<>"), max_size=30
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ANYTHING, ANYTHING)
async def test_any_text_is_stored_readable_or_refused(memory: Memory, text: str, name: str) -> None:
    space = memory.space(f"any-{secrets.token_hex(6)}")
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: space.save(text),
        lambda: space.save("Ada", speaker=name, tags=[name], entities=[name], metadata={name: text}),
        lambda: space.capture(user=text, assistant="ok then", tools=[{"name": name, "content": text}]),
        lambda: space.import_messages([Message(name, text, speaker=name, conversation_id=name)], source="chat"),
        lambda: space.search(text, tags=name, metadata={name: text}),
        lambda: space.search("Ada", speaker=name),
        lambda: space.recall(text, history=[{"role": "user", "content": text}]),
    ]
    for call in calls:
        with contextlib.suppress(InvalidInput):
            await call()
    if await memory.find_space(space.name) is not None:
        report = await space.drain()
        assert (report.failed, report.waiting) == (0, 0)
        for found in await space.list(limit=1000):
            assert found.summary.encode()
            assert "\0" not in found.summary
            assert (await space.get(found.id)).summary == found.summary
            await space.forget(found.id)
        left = await everything_stored(memory, space)
        wordless = {"space_state", "operations", "processed_items", "forgotten_texts", "audit_log"}
        assert not {name for name, rows in left.items() if rows} - wordless
