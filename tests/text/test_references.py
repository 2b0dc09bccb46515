"""Reference lists are read behind all else, unless a question asks for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.text.passages import PassageRanker, TextRun
from rag_nodes.text.passages.references import (
    are_entries,
    asks_for_references,
    is_reference_heading,
)
from rag_nodes.text.passages.units import units_of

ENTRIES = [
    "1. Karpukhin, V.; Oguz, B. Dense passage retrieval of harbour ferries. J. Boats 2020, 3, 7-9.",
    "2. Brown, T.; Lee, K. Ferry fares and harbour dues in dense traffic. J. Boats 2019, 8, 1-4.",
    "3. Grave, E. A survey of ferry retrieval. https://example.org/ferry 2017.",
]
BODY = (
    "# Boats\n\nThe harbour office counts each boat that passes. Every ferry is entered in a book."
    "\n\nSoup is sold on deck. It is hot."
)
QUESTION = "How are ferries retrieved from dense harbour traffic?"


def paper(heading: str = "## References", entries: str = "\n".join(ENTRIES)) -> str:
    return f"{BODY}\n\n{heading}\n\n{entries}\n\n# Appendix\n\nThe book of the ferry is green."


def order(question: str, text: str, **above: tuple[str, ...]) -> list[bool]:
    """Return for each passage, best first, if it is of the reference list."""
    runs = [TextRun("paper", 0, text, **above)]
    return [
        any(entry[3:20] in passage.span.of(text) for entry in ENTRIES)
        for passage in PassageRanker(question, runs).passages(1000)
        if passage.score > 0
    ]


@pytest.mark.parametrize(
    "heading",
    [
        "References",
        "7. References",
        "VII References:",
        "Appendix B. References",
        "BIBLIOGRAPHY",
        "Literaturverzeichnis",
        "Literatur",
        "Références",
        "Referencias",
        "参考文献",
        "Works Cited",
        "Список литературы",
    ],
)
def test_headings_of_reference_lists_are_known(heading: str) -> None:
    assert is_reference_heading(("Boats", heading))
    assert is_reference_heading((heading, "Books"))


@pytest.mark.parametrize(
    "heading", ["Reference", "API reference", "Cultural references", "Literature review", "Sources"]
)
def test_other_headings_are_none(heading: str) -> None:
    assert not is_reference_heading(("Boats", heading))


@pytest.mark.parametrize("heading", ["## References", "## 9 Bibliography", "Some more lines"])
def test_the_list_is_read_last_with_a_heading_or_by_the_look_of_its_entries(heading: str) -> None:
    is_reference = order(QUESTION, paper(heading))
    assert True in is_reference
    assert is_reference == sorted(is_reference)


def test_the_paragraph_after_a_list_is_read_before_it() -> None:
    text = paper()
    read = PassageRanker("Which ferry?", [TextRun("paper", 0, text)]).passages(1000)
    places = {reference.span.of(text)[:8]: rank for rank, reference in enumerate(read)}
    assert places["# Append"] < places["1. Karpu" if "1. Karpu" in places else "## Refer"]


def test_a_list_whose_heading_was_not_retrieved_is_known_by_the_headings_of_its_chunk() -> None:
    titles = "Harbour traffic of ferries, dense and retrieved. 2019.\n\nFerries of the harbour."
    runs = [TextRun("paper", 0, BODY), TextRun("paper", 900, titles, ("Boats", "References"))]
    units = units_of(QUESTION, runs)
    assert units.listed.tolist() == (units.runs == 1).tolist()


@pytest.mark.parametrize(
    "question",
    [
        "How were ferries retrieved in 2019?",
        "Which reference treats dense harbour traffic?",
        "Who is cited on ferries?",
        "What did Karpukhin write of ferries?",
        "Welche Literatur nennt das Paper zu ferries?",
    ],
)
def test_a_year_an_author_or_a_word_for_references_asks_for_the_list(question: str) -> None:
    assert order(question, paper())[0]


def test_only_authors_count_as_names_and_no_words_of_titles() -> None:
    entries = [
        "Danqi Chen, Adam Fisch, and Antoine Bordes. 2017.",
        "Reading Wikipedia to answer open-domain questions.",
        '[4] A. Smith and B. Jones, "Green Ferries," Journal of Boats, 2018.',
        ENTRIES[1],
    ]
    for name in ("Chen", "Bordes", "Smith", "Jones", "Brown"):
        assert asks_for_references(f"What did {name} find?", entries)
    for name in ("Wikipedia", "Ferries", "Green", "Journal", "brown"):
        assert not asks_for_references(f"What of {name}?", entries)


def test_a_single_numbered_line_with_a_year_is_no_list() -> None:
    steps = ["1. Open the valve.", "2. In 2019 the U.S. changed pages 3-4 of it.", "3. Shut it."]
    assert are_entries(steps) == [False] * 3
    assert are_entries(ENTRIES) == [True] * 3


RECITALS = [
    "(17) Regulation (EC) No 45/2001 of the Parliament applies to personal data in the EU.",
    "(18) This Regulation does not apply to a natural person under Directive 95/46/EC of 1995.",
    "(19) The protection of natural persons is the subject of an act of 2016 of the E.U.",
]
JUDGMENT = [
    "12. On 4 June 2004 the applicant, Mr J. Smith, was arrested in Berlin for theft.",
    "13. On 5 June 2004 Judge A. Miller ordered that he be detained, see paragraphs 3-4.",
    "14. In 2005 the court of appeal, with Judge B. Wood presiding, released him.",
]
STEPS = [
    "1. Download the editor of 2022 from https://example.org/editor.",
    "2. Install the server of 2019-2021 from https://example.org/server.",
]


@pytest.mark.parametrize("paragraphs", [RECITALS, JUDGMENT, STEPS])
def test_numbered_paragraphs_with_years_are_no_list(paragraphs: list[str]) -> None:
    assert not any(are_entries(paragraphs))


@pytest.mark.parametrize(
    "entries",
    [
        ["[1] A. Smith and B. Jones, Green ferries, 2018.", "[2] J.-P. Mas. Boats, 2011."],
        ["1. Brown T, Lee K. Fares. Boats 2019;8:1-4.", "2. Grave EM. Dues. Boats 2020;3:7."],
        ["3. Ann Lee et al. Fares, 2019.", "4. World Bank, Dues, 2020. doi 10.1/2"],
    ],
)
def test_numbered_entries_that_begin_with_authors_are_a_list(entries: list[str]) -> None:
    assert all(are_entries(entries))


def test_a_chapter_of_a_manual_about_references_keeps_its_rank() -> None:
    chapter = "# References\n\nAn lvalue binds to a const object without a copy."
    other = "# Pointers\n\nA pointer is an lvalue too, but it may be null."
    text = f"{chapter}\n\n{other}"
    [first, *_] = PassageRanker("How does an lvalue bind?", [TextRun("manual", 0, text)]).passages(
        9
    )
    assert "binds" in first.span.of(text)


def test_documents_that_are_all_references_are_ranked_as_before() -> None:
    text = "\n".join(ENTRIES)
    [first, *_] = PassageRanker("ferry fares", [TextRun("list", 0, text)]).passages(40)
    assert "Ferry fares" in first.span.of(text)


@given(st.lists(st.text(max_size=80), max_size=6))
def test_any_texts_are_distinguished(texts: list[str]) -> None:
    assert len(are_entries(texts)) == len(texts)
    asks_for_references("Who is Ann?", texts)


def test_a_long_entry_of_capitals_takes_no_long_time() -> None:
    assert not asks_for_references("Who is Ann?", ["A" * 50_000 + "a" * 50_000 + " x"])
    assert not asks_for_references("Who is Ann?", ["Bo, " * 30_000 + "x"])
