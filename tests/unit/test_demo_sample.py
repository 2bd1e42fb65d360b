"""The demo's sample reads like three months of a real chat, and its questions can be answered from it."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import Any

from perdure.demo import questions, sample_path

HAN = re.compile(r"[\u4e00-\u9fff]")
SPANISH = re.compile(
    r"[¿¡ñ]|\b(?:qué|está|una?|los|las|que|para|pero|muy|jaja|buenas|gracias|mamá|tortilla|el|con)\b", re.IGNORECASE
)


@cache
def messages() -> tuple[dict[str, Any], ...]:
    return tuple(map(json.loads, sample_path().read_text(encoding="utf-8").splitlines()))


def by_id(message_id: str) -> dict[str, Any]:
    return next(m for m in messages() if m["id"] == message_id)


def test_every_line_has_the_fields_of_the_documented_format() -> None:
    for message in messages():
        assert list(message) == ["type", "space", "id", "speaker", "time", "text", "conversation"]
        assert message["type"] == "message"
        assert message["space"] == "demo"
        assert message["text"] == message["text"].strip() != ""
        assert len(message["text"].encode()) <= 1200  # one message, one memory


def test_there_are_at_least_300_messages_with_unique_ids_in_order_of_time() -> None:
    ids = [m["id"] for m in messages()]
    times = [datetime.fromisoformat(m["time"]) for m in messages()]
    assert len(ids) >= 300
    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids)
    assert all(earlier < later for earlier, later in pairwise(times))
    assert all(time.utcoffset() in (timedelta(hours=1), timedelta(hours=2)) for time in times)


def test_it_spans_three_months_in_many_sittings() -> None:
    first, last = (datetime.fromisoformat(messages()[i]["time"]) for i in (0, -1))
    assert last - first >= timedelta(days=85)
    conversations = [m["conversation"] for m in messages()]
    assert len(set(conversations)) >= 40
    assert conversations == sorted(conversations)
    assert all(m["time"].startswith(m["conversation"]) for m in messages())


def test_two_people_talk_and_neither_lectures() -> None:
    speakers = Counter(m["speaker"] for m in messages())
    assert set(speakers) == {"Saskia", "Julián"}
    assert min(speakers.values()) / len(messages()) > 0.4


def test_it_is_mostly_english_with_some_spanish_and_chinese() -> None:
    chinese = [m for m in messages() if HAN.search(m["text"])]
    spanish = [m for m in messages() if not HAN.search(m["text"]) and SPANISH.search(m["text"])]
    assert 20 <= len(chinese) <= 60
    assert 25 <= len(spanish) <= 120
    for speaker in ("Saskia", "Julián"):
        assert any(m["speaker"] == speaker for m in chinese)
        assert any(m["speaker"] == speaker for m in spanish)


def test_small_talk_and_long_messages_are_in_it() -> None:
    texts = [m["text"] for m in messages()]
    folded = [t.casefold() for t in texts]
    for small in ("ok thanks", "good night!", "what", "oh"):
        assert small in folded
    assert sum("haha" in t or "jaja" in t for t in folded) >= 8
    assert sum(len(t) <= 25 for t in texts) >= 60
    assert sum(len(t) >= 300 for t in texts) >= 4
    assert sum(bool(re.search(r"\d", t)) for t in texts) >= 60


def test_ten_questions_are_asked_after_the_last_message_in_three_languages() -> None:
    asked = questions()
    last = datetime.fromisoformat(messages()[-1]["time"])
    assert len(asked) == 10
    assert len({q.text for q in asked}) == 10
    assert all(q.time > last and q.note for q in asked)
    assert sum(bool(HAN.search(q.text)) for q in asked) == 1
    assert sum("¿" in q.text for q in asked) == 1


def test_every_evidence_id_exists_and_only_small_talk_has_none() -> None:
    ids = {m["id"] for m in messages()}
    for question in questions():
        assert set(question.evidence) <= ids
    assert [q.text for q in questions() if not q.evidence] == ["ok thanks, good night!"]


def test_evidence_says_what_answers_the_question() -> None:
    answers = [
        "WBK 7714 R",
        "Paracetamol",
        "Toyota Yaris",
        "2 December at 8:40",
        "Mrs Aerts",
        "锦里小馆",
        "allergic to shellfish",
    ]
    answers += ["hand over the keys", "1,140 a month"]
    asked = [q for q in questions() if q.evidence]
    assert len(asked) == len(answers)
    for question, answer in zip(asked, answers, strict=True):
        assert any(answer in by_id(i)["text"] for i in question.evidence), question.text


def test_older_values_stay_in_the_sample_before_the_newer_ones() -> None:
    texts = [m["text"] for m in messages()]

    def position(part: str) -> int:
        found = [i for i, text in enumerate(texts) if part in text]
        assert len(found) == 1, part
        return found[0]

    for older, newer in (
        ("we're buying the Fabia", "Dirk's Toyota Yaris"),
        ("Tuesday 24 November at 10:15", "Wednesday 2 December at 8:40"),
        ("I vote Pixel", "called Croqueta from now on"),
        ("flights to Lisbon", "cancelled the trip to Lisbon"),
        ("They want to call her Alba", "will be called Vega"),
        ("Saturday 21 November at 8", "Saturday 28 November"),
        ("Two years on 9 September! No meat, no fish", "eat fish twice a week"),
        ("Binoculars it is", "guided birding weekend"),
    ):
        assert position(older) < position(newer)


def test_the_question_about_medicine_shares_no_word_with_its_answer() -> None:
    medicine = next(q for q in questions() if "medicine" in q.text)
    told = set(re.findall(r"\w+", by_id(medicine.evidence[0])["text"].casefold()))
    assert told.isdisjoint(re.findall(r"\w+", medicine.text.casefold()))
