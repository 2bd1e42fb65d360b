"""Tags: few and short, and whole words in every script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.fact_tags import MAX_TAG_CHARS, MAX_TAGS, checked_tags, one_occurs
from perdure.text import fold


def occurs(tag: str, text: str) -> bool:
    return one_occurs([fold(tag)], [fold(text)])


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("cat", "My CAT sleeps."), ("cat", "cat"), ("cat", "a cat, a dog"), ("cat", "the cat's bowl"), ("cat", "“cat”"),
        ("cat", "a category of cat"), ("new york", "in New\n  York"), ("café", "CAFE noir"), ("cafe", "un café"),
        ("straße", "STRASSE 5"), ("c++", "I write C++ at work"), ("c++", "C++20"), ("c#", "in C#."), ("c", "vitamin c"),
        (".net", "we use .NET 9"), ("🎉", "party🎉time"), ("🎉", "🎉"), ("self-care", "a day of self‑care"),
        ("care", "self-care"), ("well", "well-being"), ("o'brien", "Mrs. O’Brien"), ("amour", "l'amour"),
        ("can", "a can of beans"), ("istanbul", "İstanbul'da"), ("v2", "the v2 plan"), ("猫", "我的猫睡了"),
        ("北京", "我在北京工作"), ("cat", "我的cat很可爱"), ("すし", "今日はすしを食べた"), ("寿司", "寿司が好き"),
        ("กาแฟ", "ฉันชอบกาแฟมาก"),
        ("កាហ្វេ", "ខ្ញុំចូលចិត្តកាហ្វេ"), ("고양이", "고양이가 자요"), ("قهوة", "أحب القهوة كثيرا"),
        ("قهوة", "فنجان قهوة"), ("قهوة", "وللقهوة طعم"),
        ("योग", "मैं योग करता हूँ"), ("собака", "моя собака, да"), ("'quoted'", "it is quoted here"),
    ],
)  # fmt: skip
def test_a_tag_occurs_as_a_whole_word(tag: str, text: str) -> None:
    assert occurs(tag, text)


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("cat", "another category"), ("cat", "concat"), ("cat", "cat_food"), ("cat", "cats"), ("cat", "cat5"),
        ("cat", "bobcat sleeps, tomcat too"), ("can", "I can't"), ("don", "don't go"), ("c", "I write C++"),
        ("c", "in C# mostly"), ("c++", "abc++"), ("new york", "new yorkers"), ("cafe", "cafeteria"), ("v2", "v21"),
        ("고양이", "길고양이가 자요"), ("قطة", "مقطوعة"), ("قهوة", "مقهوة"), ("योग", "प्रयोग"), ("योग", "योगा"),
        ("собака", "собакам"),
        ("cat", "catão"), ("cat", ""), ("", "anything"), ("''", "anything"),
    ],
)  # fmt: skip
def test_a_part_of_a_word_is_no_occurrence(tag: str, text: str) -> None:
    assert not occurs(tag, text)


def test_one_tag_in_one_text_is_enough() -> None:
    assert one_occurs(["dog", "cat"], ["nothing", "a cat"])
    assert not one_occurs(["dog", "cat"], ["nothing", "at all"])
    assert not one_occurs([], ["nothing"])
    assert not one_occurs(["cat"], [])


@given(st.text("abc+#'", min_size=1), st.text("abc+#' "), st.text("abc+#' "))
def test_a_tag_between_spaces_always_occurs_unless_it_is_blank(tag: str, before: str, after: str) -> None:
    assert one_occurs([tag], [f"{before} {tag} {after}"]) == bool(tag.strip("' "))


def test_tags_are_kept_once_and_trimmed() -> None:
    assert checked_tags([" cat ", '"cat"', "", "  ", "new   york", "#"]) == ("cat", "new york", "#")
    assert checked_tags([]) == ()


def test_the_limits_are_those_of_the_mission() -> None:
    most = [str(number).rjust(MAX_TAG_CHARS, "t") for number in range(MAX_TAGS)]
    assert checked_tags(most) == tuple(most)
    with pytest.raises(ValueError, match="6 tags are more than 5"):
        checked_tags([*most, "one more"])
    with pytest.raises(ValueError, match="33 characters of at most 32"):
        checked_tags(["t" * 33])
