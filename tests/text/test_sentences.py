"""Sentences in several scripts, by offsets that never lose a character."""
# ruff: noqa: RUF001 -- full-width marks are what ends a sentence in these scripts

import pytest
from hypothesis import given
from strategies import TEXTS

from rag_nodes.text import sentences
from rag_nodes.text.sentences import sentence_spans
from rag_nodes.text.spans import Span

CASES = {
    "abbreviations and initials stay inside": (
        "Dr. Smith met Mr. Jones at 5 p.m. in the U.S. office. He left.",
        ["Dr. Smith met Mr. Jones at 5 p.m. in the U.S. office.", "He left."],
    ),
    "Chinese": (
        "今天天气很好。我们去公园吧！你呢？",
        ["今天天气很好。", "我们去公园吧！", "你呢？"],
    ),
    "Japanese": ("今日は天気がいい。公園に行こう！", ["今日は天気がいい。", "公園に行こう！"]),
    "Hindi": ("यह एक वाक्य है। यह दूसरा है।", ["यह एक वाक्य है।", "यह दूसरा है।"]),
    "Arabic": ("هل هذا صحيح؟ نعم.", ["هل هذا صحيح؟", "نعم."]),
    "German ordinals": (
        "Am 3. Mai kam er z. B. nach Berlin. Das war nicht der Plan. Es ging auch so.",
        ["Am 3. Mai kam er z. B. nach Berlin.", "Das war nicht der Plan.", "Es ging auch so."],
    ),
    "decimals and addresses": (
        "It costs 3.50 at https://example.org/a.b today. Buy two.",
        ["It costs 3.50 at https://example.org/a.b today.", "Buy two."],
    ),
    "a blank line ends a sentence": ("no full stop\n\nnext one", ["no full stop", "next one"]),
    "a line end does not": ("one long\nsentence. Two.", ["one long\nsentence.", "Two."]),
    "Windows line ends": ("One.\r\n\r\nTwo.", ["One.", "Two."]),
    "nothing but blanks": (" \n\t ", []),
}


@pytest.mark.parametrize("case", CASES)
def test_sentences_of(case: str) -> None:
    text, expected = CASES[case]
    assert [span.of(text) for span in sentence_spans(text)] == expected


@given(text=TEXTS)
def test_sentences_are_ordered_trimmed_and_hold_every_visible_character(text: str) -> None:
    spans = sentence_spans(text)
    end = 0
    for span in spans:
        assert not text[end : span.start].strip()
        assert span.of(text) == span.of(text).strip() != ""
        end = span.end
    assert not text[end:].strip()


def test_text_that_the_sentence_library_panics_on_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class PanicException(BaseException):
        """Like that of Rust code, which cannot be imported."""

    def panicking(_language: str, _text: str) -> list[str]:
        raise PanicException

    monkeypatch.setattr(sentences.sentencex, "segment", panicking)
    assert sentence_spans("One. Two.\n\nThree.", "en") == [Span(0, 9), Span(11, 17)]


def test_the_end_of_the_program_is_no_panic(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_language: str, _text: str) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(sentences.sentencex, "segment", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sentence_spans("One. Two.", "en")


def test_a_sentence_that_ends_where_a_long_paragraph_is_looked_at_in_parts_is_found() -> None:
    sentence = f"{'The pump starts when the soil is dry at noon':.<49} "
    text = sentence.replace("..", "!!") * 200
    spans = sentence_spans(text, "en")
    assert [span.start for span in spans] == list(range(0, len(text), 50))


@pytest.mark.parametrize("bullet", "-*•▪◦●○■□")
def test_a_list_item_has_its_sentences_whatever_its_bullet(bullet: str) -> None:
    text = f"{bullet} The pump is red. It stands in the hall."
    assert [span.of(text) for span in sentence_spans(text, "en")] == [
        f"{bullet} The pump is red.",
        "It stands in the hall.",
    ]
