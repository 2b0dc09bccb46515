"""Words, the numbers they have, and how often texts have them."""

import unicodedata
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.text.words import RUN, counted, counted_behind_metadata, in_runs, term_id, words


def test_case_and_compatibility_forms_do_not_separate_equal_words() -> None:
    assert words("Straße ﬁne km² ｶﾒﾗ") == words("STRASSE FINE KM2 カメラ")


def test_thousands_separators_are_dropped_and_decimals_kept() -> None:
    assert words("$1,250,000 in 2023, or 3.5%") == ["1250000", "in", "2023", "or", "3.5"]


def test_a_comma_between_other_digits_separates() -> None:
    assert words("1,2,3 and 12,3456") == ["1", "2", "3", "and", "12", "3456"]


def test_identifiers_fall_apart_into_their_words() -> None:
    assert words("chunk_size=Top-K") == ["chunk", "size", "top", "k"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("今天天气很好。", "天气"),
        ("データベースに保存する", "保存"),
        ("ภาษาไทยไม่มีช่องว่าง", "ไทย"),
        ("서울은 대한민국의 수도이다", "서울"),
    ],
)
def test_a_word_inside_unspaced_text_is_found(text: str, word: str) -> None:
    assert set(words(word)) <= set(words(text))


def test_combining_marks_stay_with_their_word() -> None:
    assert words("हिन्दी में लिखा") == ["हिन्दी", "में", "लिखा"]


def test_scripts_that_touch_are_separated() -> None:
    assert words("RAG系统v2") == ["rag", "系统", "v2"]


def test_invisible_characters_do_not_hide_a_word() -> None:
    assert words("co\u00adoperate می\u200cخواهم") == words("cooperate میخواهم")  # noqa: RUF001 - Persian


@pytest.mark.parametrize("text", ["", " \n\t", "… — !? | --- |", "\u00ad\u200d"])
def test_text_without_letters_and_digits_has_no_words(text: str) -> None:
    assert words(text) == []


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_plain_text_is_split_the_same_whatever_stands_next_to_it(text: str) -> None:
    assert words(f"{text} ü") == [*words(text), "ü"]


ALPHABETS = (
    "aZß3.,_ \u00bd\u00b2\u00aa\u00b5\u0131\u017fÅé\u03a3\u03c2\u0424\u0419"
    "\u2026\u2014\u201c\u2022\u20ac\u2460\ufb01\u00a0\u00ad\u0301"
)


@given(st.text(alphabet=st.one_of(st.sampled_from(ALPHABETS), st.characters())))
def test_a_text_is_split_the_same_whatever_script_stands_next_to_it(text: str) -> None:
    assert words(f"{text}\n天") == [*words(text), "天"]


def test_every_letter_and_digit_of_spaced_scripts_is_part_of_a_word_and_no_sign_is() -> None:
    for description in map(chr, [*range(0x590), *range(0x1E00, 0x2E00)]):
        if (
            unicodedata.category(description) == "Cn"
        ):  # `regex` may know more of Unicode than Python does
            continue
        folded = unicodedata.normalize("NFKC", description).casefold()
        held = any(unicodedata.category(part)[0] in "LN" for part in folded)
        assert bool(words(description)) == held, hex(ord(description))


@given(st.text())
def test_cutting_the_words_again_changes_nothing_in_spaced_scripts(text: str) -> None:
    ascii_words = [word for word in words(text) if word.isascii()]
    assert words(" ".join(ascii_words)) == ascii_words


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_string_at_all_has_words_and_numbers_for_them(text: str) -> None:
    assert all(0 <= term_id(word) < 2**31 for word in words(text))


def test_the_number_of_a_word_never_changes_between_processes_and_releases() -> None:
    assert (term_id("chunk"), term_id("天气")) == (1207267482, 1021046871)


TEXTS = st.lists(st.text(alphabet="ab 天ßé\u0301\n", max_size=40), max_size=20)
LINES = st.lists(st.sampled_from(["breadcrumb: a > b", "title: 1,250 b", "no metadata"]))


@given(LINES, st.text(alphabet="ab: 1,250天ßé\u0301\n", max_size=60))
def test_a_text_behind_metadata_counts_as_all_of_it_in_the_same_order(
    lines: list[str], text: str
) -> None:
    whole = "\n".join(lines) + "\n\n" + text
    assert list(counted_behind_metadata(whole).items()) == list(Counter(words(whole)).items())


def test_text_behind_metadata_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def note_words(text: str) -> list[str]:
        read.append(text)
        return words(text)

    monkeypatch.setattr("rag_nodes.text.words.words", note_words)
    text = "The pump has a valve.\n\nNote: the valve leaks."
    counted_behind_metadata(f"breadcrumb: Manual > Pump\n\n{text}")
    counted(text)
    assert read == ["breadcrumb: Manual > Pump", text]


def test_a_long_text_is_not_remembered() -> None:
    text = "word " * 10_000
    assert counted(text) == {"word": 10_000}
    assert counted(text) is not counted(text)


@given(TEXTS)
def test_a_run_holds_the_counts_of_every_text(texts: list[str]) -> None:
    expected = [Counter(words(text)) for text in texts]
    counts = []
    for run in in_runs(expected):
        pairs = [(run.vocabulary[n], c) for n, c in zip(run.words, run.counts, strict=True)]
        ends = [0, *run.different.cumsum()]
        counts += [pairs[start:end] for start, end in pairwise(ends)]
        assert [list(run.rows()).count(n) for n in range(len(run.different))] == [*run.different]
    assert counts == [list(text.items()) for text in expected]


def test_many_texts_come_in_runs_of_which_none_is_large() -> None:
    sizes = [len(run.different) for run in in_runs(Counter(["a"]) for _ in range(2 * RUN + 1))]
    assert sizes == [RUN, RUN, 1]
