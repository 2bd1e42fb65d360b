"""How text becomes terms: what a person types finds what another person wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.text import MAX_QUERY_TERMS, MAX_TERM_CHARS, analyse, fold, forms, has_letter_or_digit, query_terms, terms

ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=80)


def shared(query: str, memory: str) -> set[str]:
    return set(query_terms(query)) & set(terms(memory))


@pytest.mark.parametrize(
    ("query", "memory", "term"),
    [
        ("Who is running?", "I run every morning", "run"),
        ("my cafe in Zurich", "Das Café in Zürich", "cafe"),
        ("strasse", "Die STRAẞE und die Straße", "strass"),
        ("DIYARBAKIR", "Diyarbakır'da doğdum", "diyarbakir"),
        ("istanbul", "İSTANBUL'a gittik", "istanbul"),
        ("我什么时候去了北京？", "去年五月我搬到北京工作", "北京"),
        ("你养了什么猫", "我家有一只黑猫", "猫"),
        ("東京でコーヒーを飲んだ", "昨日ｺｰﾋｰを買った", "コー"),
        ("ฉันชอบกินอะไร", "เธอบอกว่าชอบกินข้าวผัด", "กิน"),
        ("น้ำ", "ดื่มนํ้าเยอะ", "น้ำ"),
        ("ดำ", "แมวดำของเธอ", "ดำ"),
        ("ຂ້ອຍດື່ມນ້ຳ", "ນ້ຳເຢັນ", "ນ້ຳ"),
        ("ភាសាខ្មែរ", "ខ្ញុំរៀនភាសាខ្មែរ", "ខ្មែ"),
        ("ရေ", "ရေသောက်တယ်", "ရေ"),
        ("お茶が好き", "緑茶を飲む", "茶"),
        ("서울 여행", "어제 서울에서 친구를 만났다", "서울"),
        ("أين الكتاب", "هذا كِتَابٌ جديد", "كتاب"),
        ("احمد", "قابلت أَحْمَد أمس", "احمد"),
        ("שלום", "אמרתי שָׁלוֹם", "שלום"),
        ("किताब", "मेरी किताबें खो गईं", "किताब"),
        ("кто видел мою собаку", "У меня есть собака", "собак"),
        ("елка", "Купили ёлку", "елк"),
        ("αθηνα", "Πήγα στην Αθήνα", "αθην"),
        ("người Đà Nẵng", "toi o da nang", "nang"),
        ("year 2566", "ปี ๒๕๖๖", "2566"),
        ("email", "send me an e-mail", "email"),
        ("O'Brien", "Mrs O’Brien called", "obrien"),
        ("amour", "L’amour toujours", "amour"),
        ("USA", "back in the U.S.A.", "usa"),
        ("the U.S. visa", "She moved to the U.S.", "us"),
        ("Mary", "Mary's dog", "mari"),
    ],
)
def test_a_question_shares_a_term_with_the_memory_it_is_about(query: str, memory: str, term: str) -> None:
    assert term in shared(query, memory)


@pytest.mark.parametrize(
    "written",
    [
        "2023-05-08",
        "8/5/2023",
        "08.05.2023",
        "15:30",
        "v2.1",
        "3.11.4",
        "foo_bar",
        "user@x.org",
        "c++",
        "c#",
        "path/like",
    ],
)
def test_dates_times_versions_and_identifiers_are_kept_whole(written: str) -> None:
    assert written in terms(f"see {written}, please")
    assert written in query_terms(f"what about {written}?")


def test_identifiers_also_give_their_parts() -> None:
    assert {"foobar", "foo", "bar"} <= set(terms("fooBar"))
    assert {"node.js", "node", "js"} <= set(terms("node.js"))
    assert {"std::vector", "std", "vector"} <= set(terms("std::vector"))
    assert {"well-known", "well", "known"} <= set(terms("well-known"))
    assert "2023" in terms("2023-05-08")
    assert terms("C#") == ["c#"]
    assert terms("#winter 5#") == ["winter", "5"]
    assert {"notepad++", "notepad"} <= set(terms("Notepad++"))


def test_thousands_are_one_number_however_they_are_written() -> None:
    assert terms("1,234,567") == terms("1234567") == ["1234567"]
    assert terms("1,2") == ["1", "2"]


def test_a_stem_is_scored_and_the_unstemmed_word_stays_beside_it() -> None:
    assert (terms("running dogs ran"), forms("running dogs ran")) == (["run", "dog", "ran"], ["running", "dogs"])
    assert (terms("run"), forms("run")) == (["run"], [])
    assert forms("fooBars runs 15:30") == ["foobars", "bars", "runs"]


def test_english_function_words_and_single_letters_are_no_terms_beside_other_words() -> None:
    assert terms("I am at the harbour") == terms("harbour")
    assert terms("Plan B: ask Vitamin C's maker") == terms("plan ask vitamin maker")
    assert terms("state-of-the-art") == ["state-of-the-art", "state", "art"]
    assert terms("Die Katze will raus") == terms("Die Katze raus")


@pytest.mark.parametrize("text", ["to be or not to be", "C", "I", "Who?", "the"])
def test_a_text_of_function_words_alone_keeps_them(text: str) -> None:
    assert len(terms(text)) == len(text.split())
    assert analyse(text).length == len(text.split())


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", 0),
        ("We painted the old boat", 3),
        ("猫", 1),
        ("我家有一只黑猫", 6),
        ("我家。黑猫", 2),
        ("昨日コーヒーを買った", 9),
        ("서울에서", 3),
        ("서울", 1),
        ("แมว", 1),
        ("เธอบอกว่าชอบกินข้าวผัด", 7),
        ("看 Python 3.11", 3),
    ],
)
def test_length_counts_words_and_in_scripts_without_spaces_about_as_much(text: str, length: int) -> None:
    assert analyse(text).length == length


@pytest.mark.parametrize("text", ["", " \n", "👩‍💻🎉", "1️⃣ ㊗️ ❤️", "🇩🇪", "…!?", "\u200d\ufe0f", "\u0301", "__"])
def test_text_without_words_gives_no_terms(text: str) -> None:
    assert terms(text) == []
    assert query_terms(text) == []
    assert not has_letter_or_digit(text)


@pytest.mark.parametrize("text", ["ok", "7", "é", "好", "ไทย", "٣", "👍 да"])
def test_one_letter_or_digit_of_any_script_is_something_said(text: str) -> None:
    assert has_letter_or_digit(text)


def test_scripts_side_by_side_without_spaces_are_taken_apart() -> None:
    assert {"我用", "python3", "写代"} <= set(terms("我用Python3写代码"))
    assert terms("ไทยabc서울ไทย猫") == ["ไทย", "abc", "서울", "ไทย", "猫"]
    assert terms("猫") == ["猫"]
    assert terms("ยา") == ["ยา"]


def test_zero_width_characters_do_not_hide_a_word() -> None:
    assert terms("pass\u200dword\u2060s") == terms("passwords")
    assert terms("\u202eabc\u202c") == ["abc"]


def test_operators_in_user_text_are_data() -> None:
    assert query_terms("cats & !dogs | (birds:*) <-> 'fish' OR NOT") == ["cat", "dog", "bird", "fish"]


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("When did she move to Berlin?", ["move", "berlin"]),
        ("¿Cuándo es el cumpleaños de mi hermano?", {"cumpleano", "hermano"}),
        ("Wo hat die Anna gewohnt?", {"anna", "gewohnt"}),
        ("Où est le chat de ma sœur ?", {"chat", "soeur"}),
        ("где живет моя сестра", {"сестр"}),
    ],
)
def test_function_words_of_the_query_language_are_left_out(query: str, kept: list[str] | set[str]) -> None:
    found = query_terms(query)
    assert found == kept if isinstance(kept, list) else kept <= set(found)
    assert not {"did", "el", "die", "le", "где"} & set(found)


def test_a_function_word_of_another_language_stays_in_an_english_question() -> None:
    assert {"son", "die"} <= set(query_terms("When did the son die?"))
    assert query_terms("son birthday") == ["son", "birthday"]


def test_a_query_that_names_a_date_asks_for_its_terms_too() -> None:
    assert query_terms("What did Ada cook on 8 May 2023?") == [
        "ada",
        "cook",
        "8",
        "may",
        "2023",
        "@m5",
        "@m5d8",
        "@y2023",
    ]
    assert "@m5" not in query_terms("What may Ada cook?")
    long = " ".join(f"w{number}" for number in range(5000)) + " in May"
    assert len(query_terms(f"in May {long}")) == MAX_QUERY_TERMS
    assert query_terms(f"in May {long}")[-1] == "@m5"


@given(ANY_TEXT)
def test_no_text_can_pretend_to_be_of_a_date(text: str) -> None:
    assert not any(term.startswith("@") for term in terms(f"{text} @m5 @y2023"))


@pytest.mark.parametrize("query", ["who are you", "的", "the", "什么"])
def test_a_query_of_function_words_keeps_them(query: str) -> None:
    assert query_terms(query)


def test_the_first_terms_of_a_very_long_query_count() -> None:
    found = query_terms(" ".join(f"w{number}" for number in range(5000)))
    assert len(found) == MAX_QUERY_TERMS
    assert found[:2] == ["w0", "w1"]


def test_a_very_long_word_is_cut_and_still_equal_only_to_itself() -> None:
    word, other = "x" * 5000, "x" * 4999 + "y"
    assert terms(word) == terms(word.upper())
    assert terms(word) != terms(other)
    assert all(len(term) <= MAX_TERM_CHARS for term in terms(f"{word} http://x.org/{'ab/' * 3000}"))


@given(ANY_TEXT)
def test_terms_are_short_folded_and_without_white_space(text: str) -> None:
    for term in (*terms(text), *forms(text)):
        assert 0 < len(term) <= MAX_TERM_CHARS
        assert term == "".join(term.split())
        assert "\x00" not in term


@given(ANY_TEXT)
def test_terms_do_not_depend_on_what_came_before(text: str) -> None:
    assert terms(text) == terms(text)
    assert bool(query_terms(text)) == bool(terms(text))
    assert bool(analyse(text).length) == bool(terms(text))
    assert 0 <= analyse(text).length <= len(terms(text))


@given(ANY_TEXT)
def test_what_a_query_of_more_than_function_words_asks_for_a_memory_of_the_same_words_has(text: str) -> None:
    asked = [term for term in query_terms(f"{text} harbour") if not term.startswith("@")]
    assert set(asked) <= set(terms(f"{text} harbour"))


@given(ANY_TEXT)
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_every_alphabet_of_unicode_is_folded_for_good_and_never_an_error() -> None:
    for start in (*range(0, 0x20000, 0x800), 0x2F800, 0xE0000):  # the other planes hold ideographs or nothing
        if start != 0xD800:
            folded = fold(" a".join(map(chr, range(start, start + 0x800))))
            assert fold(folded) == folded
            assert all(0 < len(term) <= MAX_TERM_CHARS for term in terms(folded))


@given(st.text(st.characters(max_codepoint=0x17F, categories=("L", "Nd", "Zs")), max_size=40))
def test_case_never_matters_in_latin_text(text: str) -> None:
    assert fold(text.upper()) == fold(text.lower()) == fold(text)


def test_marks_that_make_another_word_are_kept() -> None:
    assert fold("й") != fold("и")
    assert fold("が") != fold("か")
    assert fold("ที่") != fold("ที")
    assert fold("कि") != fold("क")
    assert fold("한") == "한"


def test_tags_of_pictures_stay_tags() -> None:
    assert fold("🎉") == "🎉"
    assert fold("❤️") == fold("❤")
