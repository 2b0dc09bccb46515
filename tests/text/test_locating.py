"""A text is found among others as another program extracted it, or not at all."""

from itertools import pairwise

import pytest

from rag_nodes.text.letters import folded_letters
from rag_nodes.text.locating import IndexedSpan, LetterIndex, Piece
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


def text_located(text: str, *documents: str) -> str | None:
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
def test_spellings_of_programs_are_the_same_text(extracted: str, written: str) -> None:
    assert text_located(extracted, f"{TEXT}\n\n{written}\n\nThe end.") == written


def test_a_place_is_found_beside_headers_that_the_document_leaves_out() -> None:
    page = f"Manual of the Lady Anne, page 7 of 90\n{PROSE[2]}\n{PROSE[3]}\nPrinted in Oban"
    assert text_located(page) == f"{PROSE[2]}\n\n{PROSE[3]}"


def test_a_place_is_found_around_a_line_that_stands_elsewhere() -> None:
    chunk = f"{PROSE[1]} {PROSE[2]} Figure 3 shows the boat house. {PROSE[3]} {PROSE[4]}"
    assert text_located(chunk) == "\n\n".join(PROSE[1:5])


def test_a_short_text_with_another_word_has_no_place() -> None:
    assert text_located(PROSE[4].replace("holiday", "wedding")) is None
    assert text_located(PROSE[4]) == PROSE[4]


def test_a_text_in_other_words_has_no_place() -> None:
    chunk = "Before a storm comes up the purser looks at the rudder. " * 8
    assert text_located(chunk) is None


def test_a_text_that_stands_twice_has_no_place() -> None:
    twice = f"{TEXT}\n\nAppendix\n\n{PROSE[5]}\n\n{PROSE[6]}"
    assert text_located(f"{PROSE[5]} {PROSE[6]}", twice) is None
    assert text_located(f"Page 8\n{PROSE[5]}\n{PROSE[6]}\nPage 9", twice) is None
    assert text_located(f"{PROSE[4]} {PROSE[5]} {PROSE[6]}", twice) == "\n\n".join(PROSE[4:7])


def test_a_copy_with_one_other_word_is_not_taken_for_the_text() -> None:
    copy = TEXT.replace("storm", "flood")
    assert text_located(f"Page 3 {TEXT} Page 4", TEXT, copy) is None
    assert text_located(TEXT, TEXT, copy) == TEXT


def find_in_order(
    document: str, *pages: str, at: tuple[int, ...] = ()
) -> list[tuple[int, str] | None]:
    """Return where each page of another extraction is found, and the characters there.

    Args:
        document: in which they are looked for.
        pages: of the other extraction.
        at: where the pages of the document start, if it knows.
    """
    index = LetterIndex([document])
    parts = [IndexedSpan(number, Span(0, len(page))) for number, page in enumerate(pages)]
    located = [IndexedSpan(0, Span(*ends)) for ends in pairwise([*at, len(document)])] if at else []
    pieces = [Piece(page, number) for number, page in enumerate(pages, start=1)]
    places = index.find_in_order(pieces, parts, [index.find(page) for page in pages], [0], located)
    return [place and (place.span.start, place.span.of(document)) for place in places]


def test_a_text_that_stands_twice_is_found_between_its_neighbours() -> None:
    pages = [PROSE[0], PROSE[1], PROSE[2], PROSE[1], PROSE[3]]
    document = "\n\n".join(pages)
    assert LetterIndex([document]).find(PROSE[1]) is None
    places = find_in_order(document, *pages)
    assert [place and place[1] for place in places] == pages
    assert [place and place[0] for place in places][1:4:2] == [
        document.index(PROSE[1]),
        document.rindex(PROSE[1]),
    ]


def test_one_of_two_equal_texts_has_no_place_unless_it_is_next_to_a_neighbour() -> None:
    document = "\n\n".join([PROSE[0], PROSE[1], PROSE[1], PROSE[2]])
    *_, before, _, last = find_in_order(
        document, PROSE[0], "Our own line.", PROSE[1], "Another line.", PROSE[2]
    )
    assert (before, last and last[1]) == (None, PROSE[2])
    _, beside, _ = find_in_order(document, PROSE[0], PROSE[1], f"Our own line. {PROSE[2]}")
    assert beside == (document.index(PROSE[1]), PROSE[1])


def test_forms_that_differ_in_a_number_are_distinguished_by_their_order() -> None:
    forms = [f"Form {number}. {PROSE[0]} {PROSE[1]} Ref {number * 7}." for number in range(10, 30)]
    pages = [f"Manual of boats, page {n}\n{form}" for n, form in enumerate(forms, start=301)]
    assert text_located("\n".join(pages[4:5]), "\n\n".join(forms)) is None
    places = find_in_order("\n\n".join(forms), *pages)
    assert [place and place[1] for place in places] == forms


def test_headers_of_all_pages_do_not_hide_a_short_page() -> None:
    header = "Annals of Inland Navigation and Shipbuilding, Volume 30, of the Society\n"
    texts = [PROSE[0], "Figure 4 follows behind.", PROSE[1], PROSE[2]]
    places = find_in_order("\n\n".join(texts), *(header + text for text in texts))
    assert [place and place[1] for place in places] == texts


def test_a_hidden_earlier_page_is_not_located_on_the_page_that_shows_its_text_now() -> None:
    shown = ["\n".join(PROSE[:4]), "\n".join(PROSE[4:])]
    document, second = "\n\n".join(shown), len(shown[0]) + 2
    hidden = f"{PROSE[2]}\n{PROSE[3]}"
    places = find_in_order(document, shown[0], hidden, shown[1], at=(0, second))
    assert [place and place[1] for place in places] == [shown[0], None, shown[1]]


def test_a_page_belongs_to_the_page_that_has_most_of_it() -> None:
    shown = ["\n\n".join(PROSE[:4]), "\n\n".join(PROSE[4:])]
    document, second = "\n\n".join(shown), len(shown[0]) + 2
    first = "\n".join([*PROSE[:3], "Lions rest here.", PROSE[3], "Tigers rest here."])
    hidden = "\n".join(["Camels walk by.", PROSE[3], "Zebras walk by.", *PROSE[4:]])
    index, pieces = LetterIndex([document]), [Piece(first, 1), Piece(hidden, 2)]
    starts = [piece.text.index(PROSE[3]) for piece in pieces]
    parts = [
        IndexedSpan(number, Span(start, start + len(PROSE[3])))
        for number, start in enumerate(starts)
    ]
    alone = [index.find(PROSE[3])] * 2
    pages = [IndexedSpan(0, Span(0, second)), IndexedSpan(0, Span(second, len(document)))]
    assert index.find_in_order(pieces, parts, alone, [0], pages) == [alone[0], None]


def test_a_part_in_another_order_keeps_the_place_that_it_has_alone() -> None:
    moved = [PROSE[1], PROSE[2], PROSE[0], PROSE[3], PROSE[4]]
    places = find_in_order("\n\n".join(PROSE), *moved)
    assert [place and place[1] for place in places] == moved


def test_other_texts_have_no_place_in_order() -> None:
    others = [
        "Lions eat no grass at all, and the storm is a race for them in the end.",
        "The result of a voyage is written nowhere by the cooks of the savanna.",
    ]
    assert find_in_order(TEXT, *others) == [None, None]


def test_targets_of_links_are_no_letters_of_the_text() -> None:
    linked = PROSE[1].replace("purser", "[purser](https://boats.example/crew/(all)/purser)")
    assert text_located(PROSE[1], f"{PROSE[0]}\n\n{linked}\n\n{PROSE[2]}") == linked


def test_only_the_texts_that_are_named_are_searched() -> None:
    index = LetterIndex([TEXT, "Nothing of the kind.", TEXT])
    assert index.find(PROSE[3]) is None
    place = index.find(PROSE[3], among=[2])
    assert place is not None
    assert (place.text, place.span.of(TEXT)) == (2, PROSE[3])
    assert index.find(PROSE[3], among=[1]) is None


def test_short_and_empty_texts_have_no_place() -> None:
    assert text_located("The anchor") is None
    assert text_located("") is None
    assert LetterIndex([]).find(PROSE[0]) is None
    assert LetterIndex(["", ""]).find(PROSE[0]) is None


def test_each_letter_knows_its_character() -> None:
    codes, offsets = folded_letters("a \ufb03\u0301!B\U0001d7d8")
    assert "".join(map(chr, codes)) == "affib0"
    assert offsets.tolist() == [0, 2, 2, 2, 5, 6]


def test_a_text_of_one_letter_is_not_looked_for_everywhere() -> None:
    assert text_located("a" * 300 + "b" * 30, "a" * 200_000) is None
