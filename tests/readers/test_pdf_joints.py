"""What goes between two lines of a PDF: nothing, a space, or less a hyphen."""

import pytest

from rag_nodes.readers.pdf.joints import Vocabulary, joint


def join(before: str, after: str, *others: str) -> str:
    """Join two lines in a document whose other lines are `others`."""
    drop, glue = joint(before, after, Vocabulary([*others, before, after]))
    return before[: len(before) - drop] + glue + after


@pytest.mark.parametrize(
    ("before", "after", "joined"),
    [
        ("the informa-", "tion desk", "the information desk"),
        ("a Netzwerkverbin-", "dung", "a Netzwerkverbindung"),
        ("the co\u00ad", "operation", "the cooperation"),
        ("the multi\u2010", "plication", "the multiplication"),
        ("a fresh", "start", "a fresh start"),
        ("from 2017 -", "2023", "from 2017 - 2023"),
        ("the Debian-", "Installer", "the Debian-Installer"),
        ("a U.S.-", "based firm", "a U.S.-based firm"),
        ("the COVID-", "19 wave", "the COVID-19 wave"),
        ("an HPC-", "specific rule", "an HPC-specific rule"),
        ("a self-", "closing valve", "a self-closing valve"),
        ("an e-", "mail", "an e-mail"),
        ("short-", "and long-term", "short- and long-term"),
        ("Ein-", "und Ausgabe", "Ein- und Ausgabe"),
        ("some toma-", "to soup", "some tomato soup"),
        ("GNU/-", "Linux", "GNU/Linux"),
        ("see https://example.org/long-", "name", "see https://example.org/long-name"),
        ("see https://example.org/", "path", "see https://example.org/path"),
        ("write to first-", "name", "write to firstname"),
        ("日本語の文", "章です", "日本語の文章です"),
        ("日本語は", "Debian で", "日本語はDebian で"),
    ],
)
def test_lines_join_as_a_reader_would_join_them(before: str, after: str, joined: str) -> None:
    assert join(before, after) == joined


def test_a_compound_seen_elsewhere_keeps_its_hyphen() -> None:
    assert join("the token-", "overlap", "a token-overlap parser") == "the token-overlap"


def test_a_joined_word_seen_elsewhere_loses_the_hyphen() -> None:
    assert join("to re-", "read it", "please reread it") == "to reread it"


def test_the_more_frequent_spelling_wins() -> None:
    often, once = "on-line and on-line", "online"
    assert join("on-", "line", often, once) == "on-line"


def test_two_long_words_of_the_document_are_taken_for_a_compound() -> None:
    assert join("token-", "overlap", "each token counts", "an overlap") == "token-overlap"


def test_short_parts_that_happen_to_be_words_are_no_compound() -> None:
    assert join("to-", "gether", "to get there") == "together"
    assert join("be-", "come", "to be or to come") == "become"


def test_a_first_part_that_forms_compounds_keeps_its_hyphen() -> None:
    others = ("a domain-specific rule", "domain-wide", "the domain", "an independent view")
    assert join("domain-", "independent", *others) == "domain-independent"


def test_a_word_broken_on_one_line_is_no_evidence_for_another() -> None:
    others = ("the infor-", "mation desk", "more infor-", "mation")
    assert join("the infor-", "mation", *others) == "the information"
