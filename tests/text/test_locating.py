"""A text is found among others as another program extracted it, or not at all."""

import pytest

from rag_nodes.text.letters import folded_letters
from rag_nodes.text.locating import IndexedSpan, LetterIndex
from rag_nodes.text.spans import Span

PROSE = [
    f"Section {name}. The {thing} is inspected by the {person} before every {event}, and the "
    f"result is written into the {name} logbook with {count} signatures."
    for count, (name, thing, person, event) in enumerate(
        zip(
            ["alpha", "bravo", "carol", "delta", "eagle", "fable", "gamma", "heron"],
            ["boiler", "rudder", "anchor", "hatch", "winch", "mast", "galley", "cabin"],
            ["mate", "purser", "cook", "pilot", "master", "deckhand", "steward", "bosun"],
            ["voyage", "storm", "audit", "repair", "holiday", "race", "sale", "refit"],
            strict=True,
        )
    )
]
TEXT = "\n\n".join(PROSE)


def found(text: str, *documents: str) -> str | None:
    """Return the characters at which a text is found."""
    given = documents or (TEXT,)
    place = LetterIndex(given).find(text)
    return place.span.of(given[place.text]) if place else None


@pytest.mark.parametrize(
    ("extracted", "written"),
    [
        ("An e\ufb03cient \ufb01re pump \ufb02oods it", "An efficient fire pump floods it"),
        ("Inter\u00adnational inspec-\ntion of boats", "International inspection of boats"),
        ("Then:\n\u2022 Free the anchor\n\u2022 Shut the hatch",
         "Then:\n\n- Free the anchor\n- Shut the hatch"),
        ("\uff21\uff22\uff23 boats carry 10\u00b3 people", "ABC boats carry 103 people"),
        ("Caf e\u0301 au lait is served here", "Caf\u00e9 au lait is served here"),
        ("T h e  w i n c h  is oiled every spring", "The winch is oiled every spring"),
    ],
    ids=["ligatures", "hyphens", "bullets", "compatibility", "accents", "spaces"],
)  # fmt: skip
def test_what_programs_write_differently_is_the_same_text(extracted: str, written: str) -> None:
    assert found(extracted, f"{TEXT}\n\n{written}\n\nThe end.") == written


def test_a_place_is_found_beside_headers_that_the_document_leaves_out() -> None:
    page = f"Manual of the Lady Anne, page 7 of 90\n{PROSE[2]}\n{PROSE[3]}\nPrinted in Oban"
    assert found(page) == f"{PROSE[2]}\n\n{PROSE[3]}"


def test_a_place_is_found_around_a_line_that_stands_elsewhere() -> None:
    chunk = f"{PROSE[1]} {PROSE[2]} Figure 3 shows the boat house. {PROSE[3]} {PROSE[4]}"
    assert found(chunk) == "\n\n".join(PROSE[1:5])


def test_a_short_text_with_another_word_has_no_place() -> None:
    assert found(PROSE[4].replace("holiday", "wedding")) is None
    assert found(PROSE[4]) == PROSE[4]


def test_a_text_in_other_words_has_no_place() -> None:
    chunk = "Before a storm comes up the purser looks at the rudder. " * 8
    assert found(chunk) is None


def test_a_text_that_stands_twice_has_no_place() -> None:
    twice = f"{TEXT}\n\nAppendix\n\n{PROSE[5]}\n\n{PROSE[6]}"
    assert found(f"{PROSE[5]} {PROSE[6]}", twice) is None
    assert found(f"Page 8\n{PROSE[5]}\n{PROSE[6]}\nPage 9", twice) is None
    assert found(f"{PROSE[4]} {PROSE[5]} {PROSE[6]}", twice) == "\n\n".join(PROSE[4:7])


def test_a_copy_with_one_other_word_is_not_taken_for_the_text() -> None:
    copy = TEXT.replace("storm", "flood")
    assert found(f"Page 3 {TEXT} Page 4", TEXT, copy) is None
    assert found(TEXT, TEXT, copy) == TEXT


def test_a_text_that_stands_twice_is_found_in_a_part_or_next_to_a_place() -> None:
    twice = f"{TEXT}\n\n{TEXT}"
    index, second = LetterIndex([twice]), len(TEXT) + 2
    assert index.find(PROSE[3]) is None
    half = IndexedSpan(0, Span(second, len(twice)))
    place = index.find(PROSE[3], between=half)
    assert place is not None
    assert place.span.start == second + TEXT.index(PROSE[3])
    assert place.span.of(twice) == PROSE[3]
    assert index.beside(PROSE[4], place, behind=True) == index.find(PROSE[4], between=half)
    assert index.beside(PROSE[2], place, behind=False) == index.find(PROSE[2], between=half)
    assert index.beside(PROSE[2], place, behind=True) is None
    assert index.beside(PROSE[0], IndexedSpan(0, Span(0, 5)), behind=False) is None


def test_only_the_texts_that_are_named_are_searched() -> None:
    index = LetterIndex([TEXT, "Nothing of the kind.", TEXT])
    assert index.find(PROSE[3]) is None
    place = index.find(PROSE[3], among=[2])
    assert place is not None
    assert (place.text, place.span.of(TEXT)) == (2, PROSE[3])
    assert index.find(PROSE[3], among=[1]) is None


def test_short_and_empty_texts_have_no_place() -> None:
    assert found("The anchor") is None
    assert found("") is None
    assert LetterIndex([]).find(PROSE[0]) is None
    assert LetterIndex(["", ""]).find(PROSE[0]) is None


def test_each_letter_knows_its_character() -> None:
    codes, offsets = folded_letters("a \ufb03\u0301!B\U0001d7d8")
    assert "".join(map(chr, codes)) == "affib0"
    assert offsets.tolist() == [0, 2, 2, 2, 5, 6]


def test_a_text_of_one_letter_is_not_looked_for_everywhere() -> None:
    assert found("a" * 300 + "b" * 30, "a" * 200_000) is None
