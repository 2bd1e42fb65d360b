"""A completion over the wire: whole, in pieces cut anywhere, or broken."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.clock import DatabaseClock
from perdure.llm import wire
from perdure.llm.wire import Broken, Completion, Stalled, read_document, read_stream

TEXT = "Ada läuft 🏃 nach Köln"


def event(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    document = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    return f"data: {json.dumps(document, ensure_ascii=False)}\n\n".encode()


STREAM = b"".join(
    [
        b": keep-alive\r\n\r\n",
        event({"role": "assistant", "content": None}),
        event({"reasoning_content": "hm"}),
        *(event({"content": sign}) for sign in TEXT),
        event({}, "stop"),
        b'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 9}}\n\n',
        b"data: [DONE]\n\n",
    ]
)


async def pieces(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def read(*chunks: bytes) -> Completion:
    completion = Completion()
    await read_stream(pieces(*chunks), DatabaseClock(), 5, completion)
    return completion


@settings(deadline=None)
@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_a_stream_may_be_cut_anywhere(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    found = asyncio.run(read(*(STREAM[start:end] for start, end in itertools.pairwise(places))))
    assert (found.text, "".join(found.reasoning), found.finish_reason) == (TEXT, "hm", "stop")
    assert (found.prompt_tokens, found.completion_tokens) == (7, 9)


async def test_a_stream_may_end_with_its_last_piece_or_with_done() -> None:
    assert (await read(event({"content": "a"}), event({}, "stop"))).text == "a"
    assert (await read(event({"content": "a"}), b"data: [DONE]")).finish_reason == "stop"


@pytest.mark.parametrize(
    "chunks",
    [
        [event({"content": "half"})],
        [event({"content": "half"}), b'data: {"error": {"message": "out of memory"}}\n\n'],
        [event({"content": "half"}), b'error: {"message": "out of memory"}\n\n'],
        [event({"content": "half"}), b"data: {not json}\n\n"],
        [event({"content": "half"}), b"data: [1, 2]\n\n"],
        [event({"content": "half"}), b'data: {"choices": 7}\n\n'],
    ],
)
async def test_half_a_stream_is_broken_and_what_came_is_kept(chunks: list[bytes]) -> None:
    with pytest.raises(Broken) as caught:
        await read(*chunks)
    assert "half" in caught.value.raw or "memory" in caught.value.raw


async def test_a_stream_that_stops_is_noticed_though_comments_keep_coming() -> None:
    async def drip() -> AsyncIterator[bytes]:
        yield event({"content": "half"})
        while True:
            await asyncio.sleep(0.01)
            yield b": still here\n\n"

    with pytest.raises(Stalled) as caught:
        await read_stream(drip(), DatabaseClock(), 0.1, Completion())
    assert caught.value.raw == "half"


async def flood() -> AsyncIterator[bytes]:
    while True:
        await asyncio.sleep(0)
        yield event({"content": "x"})


async def test_a_flood_of_pieces_does_not_hide_the_deadline_or_a_cancellation() -> None:
    for _ in range(20):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await read_stream(flood(), DatabaseClock(), 5, Completion())
        reading = asyncio.create_task(read_stream(flood(), DatabaseClock(), 5, Completion()))
        await asyncio.sleep(0.01)
        reading.cancel()
        await asyncio.wait([reading], timeout=2)
        assert reading.cancelled()


async def test_a_stream_without_an_end_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_BYTES", 1000)

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 100

    with pytest.raises(Broken, match="ran on"):
        await read_stream(endless(), DatabaseClock(), 5, Completion())


def document(message: dict[str, Any]) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()


def test_content_may_be_a_list_of_parts_with_reasoning_among_them() -> None:
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    completion = Completion()
    read_document(document({"content": parts}), completion)
    assert (completion.text, completion.reasoning) == ("ab", ["hm"])


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_beside_the_answer_is_not_the_answer(name: str) -> None:
    completion = Completion()
    read_document(document({"content": None, name: "the answer is 7"}), completion)
    assert completion.text == ""
    assert completion.reasoning == ["the answer is 7"]


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b'{"choices": []}', b'{"choices": [7]}', b'{"choices": {}}', b"[" * 100_000]
)
def test_anything_else_is_broken(body: bytes) -> None:
    with pytest.raises(Broken):
        read_document(body, Completion())
