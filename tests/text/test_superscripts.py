"""Superscripts become raised characters, so that no number gets a digit that is not its own."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.text.sentences import sentence_spans
from rag_nodes.text.superscripts import raised
from rag_nodes.text.words import words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("3", "³"),
        ("-3", "⁻³"),
        ("\u2013 3", "\u2013 ³"),
        ("\u20133", "⁻³"),
        ("n+1", "ⁿ⁺¹"),
        ("2x", "²ˣ"),
        ("T", "ᵀ"),
        ("1,2", "¹,²"),
        ("[12]", "[12]"),
        ("[a] 3", "[a] ³"),
        ("[3", "[³"),
        ("*", "*"),
        ("st", "st"),
        ("TM", "TM"),
        ("(see note 4)", "(see note 4)"),
        ("2nd note", "²nd note"),
        ("", ""),
    ],
)
def test_numbers_signs_and_single_letters_are_raised(text: str, shown: str) -> None:
    assert raised(text) == shown


@given(st.text(st.sampled_from("0123456789+-\u2212=()[]abnxTÄé ,.")))
def test_a_superscript_keeps_its_length_and_its_meaning(text: str) -> None:
    def plain(text: str) -> str:
        return unicodedata.normalize("NFKC", text).replace("\u2212", "-")

    assert len(raised(text)) == len(text)
    assert plain(raised(text)) == plain(text)


@given(st.text(st.sampled_from("0123456789abnx ,.-"), min_size=1))
def test_no_digit_of_a_superscript_continues_the_number_before_it(text: str) -> None:
    assert not raised(text)[0].isdecimal()


def test_keyword_search_finds_the_word_before_a_note_mark_and_powers_as_they_are_typed() -> None:
    assert words("Elements¹² of 40 m² and 10³, sin²") == [
        *("elements", "12", "of", "40", "m2", "and", "103", "sin2")
    ]


def test_a_note_mark_belongs_to_the_sentence_that_it_follows() -> None:
    text = "The ferry left at ten.¹,² The next one was late.³ ⁴ See page 2."
    assert [span.of(text) for span in sentence_spans(text)] == [
        "The ferry left at ten.¹,²",
        "The next one was late.³",
        "⁴ See page 2.",
    ]
