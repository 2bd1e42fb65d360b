"""Names: entities are found as whole words in any script, by comparison and by key alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.text import MAX_ENTITY_KEYS, entity_key, entity_keys, is_assistant, is_role, name_keys
from perdure.text.names import phrase_in

MENTIONED = [
    ("Ada", "have you met ada?"),
    ("Ada", "Ada's garden"),
    ("Zoë Müller", "I saw zoe  muller yesterday"),
    ("St. Mary's Hospital", "She works at St. Mary's hospital."),
    ("Jean-Luc Picard", "JEAN-LUC PICARD!"),
    ("C++", "do I like C++?"),
    ("C", "C and C++"),
    ("AT&T", "my at&t bill"),
    ("O'Brien", "Mrs O’Brien"),
    ("小明", "你见过小明吗"),
    ("北京", "我住在北京。"),
    ("กรุงเทพมหานคร", "เธออยู่กรุงเทพมหานครนานแล้ว"),
    ("서울", "서울에서는 비가 왔다"),
    ("민준", "민준이가 왔다"),
    ("Straße", "in der STRASSE"),
    ("أحمد", "رأيت احمد"),
    ("iPhone手机", "我的iPhone手机坏了"),
    ("東京タワー", "東京タワーに行った"),
    ("Diyarbakır", "DIYARBAKIR'DA"),
    ("user@x.org", "write to user@x.org"),
    ("New York City", "new york\ncity"),
]
ABSENT = [
    ("Ann", "Anna called"),
    ("art", "start the party"),
    ("Ada", "Canada"),
    ("New York", "new yorker"),
    ("กา", "กำ"),
    ("서울", "한서울"),
    ("", "anything"),
    ("Rex", ""),
]


@pytest.mark.parametrize(("entity", "text"), MENTIONED)
def test_a_mentioned_entity_is_found_in_any_script(entity: str, text: str) -> None:
    assert phrase_in(entity, text)
    assert entity_key(entity) in entity_keys(text)


@pytest.mark.parametrize(("entity", "text"), ABSENT)
def test_a_part_of_a_word_is_no_mention(entity: str, text: str) -> None:
    assert not phrase_in(entity, text)
    assert entity_key(entity) not in entity_keys(text)


def test_one_entity_has_one_key_however_it_is_written() -> None:
    assert entity_key("  Zoë   MÜLLER, ") == entity_key("(Zoe Muller)") == "zoe muller"
    assert entity_key("🎉") == "🎉"
    assert entity_key("C++") == "c++"


WORDS = st.sampled_from(["ada", "new", "york", "北", "京", "서울", "서울에서", "กรุง", "c++", "o'neil", "x", "2023"])
SENTENCES = st.lists(st.tuples(WORDS, st.sampled_from([" ", ", ", "", "-"])), min_size=1, max_size=10).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)


@given(SENTENCES, SENTENCES)
def test_keys_and_comparison_agree(entity: str, text: str) -> None:
    key = entity_key(entity)
    if key in entity_keys(text):
        assert phrase_in(entity, text)
    if len(key.replace("-", " ").replace("'", " ").split()) == 1 and len(key) <= 2 and phrase_in(entity, text):
        assert key in entity_keys(text)


def test_the_keys_of_a_very_long_message_are_bounded_and_begin_with_its_words() -> None:
    keys = entity_keys("Ada met Bob. " * 20_000)
    assert len(keys) <= MAX_ENTITY_KEYS
    assert {"ada", "bob", "ada met"} <= set(keys)
    assert len(entity_keys("我们昨天在北京见到了很多朋友" * 5_000)) <= MAX_ENTITY_KEYS
    assert len(entity_keys(" ".join(f"w{number}" for number in range(9_000)))) == MAX_ENTITY_KEYS


@pytest.mark.parametrize(
    "speaker", ["user", "Assistant", "SYSTEM", "tool", "bot", "AI", "human", "model", "ChatGPT", "me"]
)
def test_a_role_is_no_name(speaker: str) -> None:
    assert is_role(speaker)


@pytest.mark.parametrize("speaker", ["Ada", "Userina", "Max Mustermann", "小明", "Mei"])
def test_a_name_is_no_role(speaker: str) -> None:
    assert not is_role(speaker)
    assert not is_assistant(speaker)


def test_only_what_a_model_is_called_is_an_assistant() -> None:
    assert is_assistant("ChatGPT")
    assert not is_assistant("user")


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("Ada", ["ada"]),
        ("Zoë Müller", ["zoe muller", "zoe"]),
        ("J. Doe", ["j. doe"]),
        ("Dr. Smith", ["dr. smith"]),
        ("The Captain", ["the captain"]),
        ("Иван Петров", ["иван петров", "иван"]),
        ("小明", ["小明"]),
        ("🎉", ["🎉"]),
        ("", []),
    ],
)
def test_a_person_is_known_by_full_and_by_first_name(name: str, keys: list[str]) -> None:
    assert name_keys(name) == keys
