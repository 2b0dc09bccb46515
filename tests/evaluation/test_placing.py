"""Quotes become characters of a document, or stand in a list with the reason."""

from pathlib import Path

import pytest
from llama_index.core import Document

from rag_nodes.core.errors import DatasetError
from rag_nodes.evaluation.checks import check_dataset
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.importers import load_dataset, place
from rag_nodes.evaluation.importers.formats import Labelled, Labels, Quote
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.spans import Span

TEXT = (
    "Green tea takes eighty degrees and three minutes.\n\nBlack  tea takes “boiling” water \u2013 "
    "and patience.\nA short word stands here and a short word stands there."
)
TEA = Document(
    text=TEXT, id_="tea", metadata={"file_name": "tea.md", "source": "/notes/hot/tea.md"}
)
OTHER = Document(text="Nothing about drinks.", id_="o", metadata={"source": "/notes/cold/other.md"})
LIKE = Quote("Green tee takes eighty degrees and tree minutes.")
UNSEEN = Quote("\ufeffGreen tea takes eighty degrees and three minutes.")
NEARLY = (LIKE, UNSEEN)


def place_quotes(*quotes: Quote, documents: tuple[Document, ...] = (TEA, OTHER)) -> Dataset:
    labels = Labels("test", (Labelled("q", "What?", (quotes,)),))
    return place(labels, documents, "test")


def quotes_in(dataset: Dataset) -> list[str]:
    return [dataset.quote(answer[0]) for question in dataset.questions for answer in question.gold]


@pytest.mark.parametrize(
    ("quote", "passages"),
    [
        (Quote("eighty degrees", "tea.md", 16, 30), ["eighty degrees"]),
        (Quote("short word stands"), ["short word stands"] * 2),  # each place is enough
        (Quote('black tea takes "boiling" water - and patience'),
         ["Black  tea takes “boiling” water \u2013 and patience"]),
        (LIKE, ["Green tea takes eighty degrees and three minutes"]),
        (Quote("Green tea takes seventy litres and nine of the hours."), []),
        (Quote("GREEN TEA TAKES EIGHTY D"), ["Green tea takes eighty d"]),
        (Quote("GREEN TEA TAKES EIGHT"), []),
        (Quote("Eighty Degrees"), ["eighty degrees"]),
        (Quote("EIGH"), []),
        (Quote("eighty degress"), []),
        (Quote("ighty degrees"), ["ighty degrees"]),
        (UNSEEN, ["Green tea takes eighty degrees and three minutes."]),
        (Quote("Coffee is never mentioned anywhere in these notes"), []),
        (Quote("eighty degrees", "missing.md"), []),
        (Quote("", "tea.md"), []),
        (Quote("", "tea.md", 400, 410), []),
        (Quote("", "tea.md", None, 10), []),
    ],
)  # fmt: skip
def test_a_quote_is_found_as_written_else_in_other_marks_or_case_else_nearly_else_listed(
    quote: Quote, passages: list[str]
) -> None:
    dataset = place_quotes(quote)
    assert quotes_in(dataset) == passages
    assert [question.id for question in dataset.not_located] == ([] if passages else ["q"])
    assert all(len(question.reason) > 20 for question in dataset.not_located)
    assert all(0.85 <= question.confidence <= 1 for question in dataset.questions)
    assert all((question.confidence < 1) is (quote in NEARLY) for question in dataset.questions)


@pytest.mark.parametrize("start", [0, 16, 48, 64])
def test_words_that_moved_are_found_nearest_to_where_they_were(start: int) -> None:
    bell = Document(text="The bell rings. " * 5, id_="bell")
    quote = Quote("The bell rings.", "bell", start + 3, start + 18)
    data = place_quotes(quote, documents=(bell,))
    assert data.questions[0].gold == ((Passage("bell", Span(start, start + 15)),),)


def test_a_quote_of_another_file_than_its_label_names_is_listed_with_that_file() -> None:
    (lost,) = place_quotes(Quote("eighty degrees", "other.md")).not_located
    assert lost.reason == (
        "its quote is not in other.md, but in hot/tea.md: correct the file column or leave it empty"
    )
    (lost,) = place_quotes(Quote("Coffee is never mentioned", "other.md")).not_located
    assert lost.reason.startswith("its quote is not in the documents, nor anything like it")


@pytest.mark.parametrize(("times", "answers"), [(5, 5), (6, 0)])
def test_five_places_are_alternatives_and_six_are_a_phrase(times: int, answers: int) -> None:
    data = place_quotes(
        Quote("A bell."), documents=(Document(text="A bell. " * times, id_="bell"),)
    )
    assert len(quotes_in(data)) == answers
    assert all("more than 5 places" in question.reason for question in data.not_located)


def test_a_text_that_is_shorter_than_a_quote_does_not_hold_it() -> None:
    longer = Quote("Nothing about drinks. All of it is about the sea, and about the ships on it.")
    assert place_quotes(longer, documents=(OTHER,)).questions == ()


def test_a_quote_is_located_in_the_most_similar_document() -> None:
    quote = Quote("The keeper lights the lamp of the tower at dusk.")
    less = Document(text="A keeper lit the lamps of the tower at dusk. More.", id_="less")
    more = Document(text="The keeper lights the lamp of a tower at dusk. More.", id_="more")
    for documents in ((less, more), (more, less)):
        data = place_quotes(quote, documents=documents)
        assert [question.gold[0][0].document for question in data.questions] == ["more"]


@pytest.mark.parametrize(
    ("gold", "sure"),
    [
        (((Quote("eighty degrees"),), (LIKE,)), True),
        (((LIKE,), (Quote("eighty degrees"),)), True),
        (((Quote("eighty degrees"), LIKE),), False),
        (((Quote("gone from here altogether, sorry"),), (Quote("patience"),)), True),
    ],
)
def test_a_question_is_as_sure_as_its_surest_answer_and_that_as_its_least_sure_part(
    gold: tuple[tuple[Quote, ...], ...], sure: bool
) -> None:
    (question,) = place(Labels("test", (Labelled("q", "What?", gold),)), (TEA,), "test").questions
    assert (question.confidence == 1.0) is sure


@pytest.mark.parametrize(
    "name",
    ["tea", "tea.md", "hot/tea.md", "/notes/hot/tea.md", "hot/tea", r"C:\notes\tea.md"],
)
def test_a_document_is_known_by_its_id_its_name_and_any_end_of_its_path(name: str) -> None:
    assert quotes_in(place_quotes(Quote("eighty degrees", name))) == ["eighty degrees"]


@pytest.mark.parametrize("title", [".", "./.", "/", "..", "..."])
def test_a_document_may_have_dots_for_a_title(title: str) -> None:
    book = Document(text=TEXT, id_="book", metadata={"title": title})
    assert quotes_in(place_quotes(Quote("patience"), documents=(book,))) == ["patience"]


def test_a_name_that_two_documents_have_is_not_guessed() -> None:
    twin = Document(text=TEXT, id_="twin", metadata={"source": "/notes/cold/tea.md"})
    data = place_quotes(Quote("eighty degrees", "tea.md"), documents=(TEA, twin))
    assert data.not_located[0].reason == (
        "it stands in 2 files called 'tea.md'; write the folder before the name, such as "
        "'hot/tea.md'"
    )
    assert quotes_in(
        place_quotes(Quote("eighty degrees", "hot/tea.md"), documents=(TEA, twin))
    ) == ["eighty degrees"]


def pages_of(path: str, *texts: str) -> tuple[Document, ...]:
    """Make documents as `SimpleDirectoryReader` does of a PDF: each is a page of its file."""
    name = path.rpartition("/")[2]
    return tuple(
        Document(
            text=text, metadata={"page_label": str(page), "file_name": name, "file_path": path}
        )
        for page, text in enumerate(texts, start=1)
    )


TIDES = pages_of("/docs/tides.pdf", "High water is at noon.", "Low water is at six.", "At noon.")


def test_a_file_that_was_read_page_by_page_is_searched_as_a_whole() -> None:
    data = place_quotes(Quote("Low water is at six", "tides.pdf"), documents=(*TIDES, TEA))
    assert quotes_in(data) == ["Low water is at six"]
    assert data.questions[0].document == TIDES[1].id_
    twice = place_quotes(Quote("at noon", "tides.pdf"), documents=TIDES)
    assert quotes_in(twice) == ["at noon"]


def test_a_page_of_a_file_that_was_read_page_by_page_is_known_by_its_label() -> None:
    quote = Quote("", "tides.pdf", pages=(2, 2))
    assert quotes_in(place_quotes(quote, documents=TIDES)) == ["Low water is at six."]
    within = Labelled("q", "When?", ((Quote("Low water"),),), within=("tides.pdf",))
    (question,) = place(Labels("test", (within,)), TIDES, "test").questions
    assert question.within == tuple(page.id_ for page in TIDES)


def test_a_name_that_no_document_has_is_said_with_names_that_there_are() -> None:
    reason = place_quotes(Quote("eighty degrees", "teas.md")).not_located[0].reason
    assert reason == (
        "no document is called 'teas.md'; write one of the names there are (hot/tea.md, "
        "cold/other.md), or no name"
    )


def test_the_closest_name_is_said_first_and_capitals_do_not_matter() -> None:
    notes = [
        Document(text="Tea.", id_=name, metadata={"file_path": f"/d/{name}"})
        for name in ("a.pdf", "b.pdf", "c.pdf", "paper_ki67_ccby.pdf")
    ]
    reason = place_quotes(Quote("Tea", "paper_ki67.pdf"), documents=notes).not_located[0].reason
    assert "there are (d/paper_ki67_ccby.pdf, d/a.pdf, d/b.pdf, …)" in reason
    assert place_quotes(Quote("Tea", "Paper_Ki67_ccby.pdf"), documents=notes).questions


def test_a_frequent_quote_asks_for_the_page_alone_if_its_file_is_named() -> None:
    text = Document(text="Tea. " * 200, id_="t", metadata={"file_name": "tea.md"})
    for document, remedy in (("tea.md", "or name the page"), (None, "name the file or the page")):
        (lost,) = place_quotes(Quote("Tea.", document), documents=[text]).not_located
        assert lost.reason.endswith(remedy)


def test_a_question_without_an_answer_or_without_words_is_listed() -> None:
    asked = Labelled("a", "", ((Quote("patience"),),)), Labelled("b", "What?", ())
    assert [
        question.id for question in place(Labels("test", asked), (TEA,), "test").not_located
    ] == [
        "a",
        "b",
    ]


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ([("q", Span(0, 5)), ("q", Span(0, 5))], "two questions have the id 'q'"),
        ([("q", Span(0, 4000))], "outside its document"),
        ([("q", Span(49, 51))], "is blank"),
    ],
)
def test_a_dataset_refuses_what_could_not_be_measured(
    questions: list[tuple[str, Span]], message: str
) -> None:
    questions_given = tuple(
        Question(name, "?", ((Passage("tea", span),),)) for name, span in questions
    )
    with pytest.raises(DatasetError, match=message):
        Dataset("test", (TEA,), questions_given)


def test_equal_data_has_an_equal_fingerprint_wherever_it_was_read() -> None:
    moved = Document(text=TEXT, id_="elsewhere", metadata={"source": "/else/tea.md"})
    here, elsewhere = (
        place_quotes(Quote("patience")),
        place_quotes(Quote("patience"), documents=(moved, OTHER)),
    )
    assert here.fingerprint == elsewhere.fingerprint
    assert here.fingerprint != place_quotes(Quote("minutes")).fingerprint


@pytest.mark.parametrize(
    ("text", "quote", "starts"),
    [
        ("Often at ten.", "ten", [9]),
        ("Room 2010, floor 10.", "10", [17]),
        ("Øst, st", "st", [5]),
        ("横浜行きの船。船は出る。", "船", [5, 7]),  # scripts without spaces have words everywhere
        ("배가 밤 열 시에 떠난다. 배", "배", [0, 15]),
    ],
)
def test_a_short_quote_is_not_found_within_a_word_where_it_stands_alone(
    text: str, quote: str, starts: list[int]
) -> None:
    data = place_quotes(Quote(quote), documents=(Document(text=text, id_="d"),))
    assert [answer[0].span.start for answer in data.questions[0].gold] == starts


PAGES = Document(
    text="Tea is hot. Ice is cold. Tea is green. " + "So it is. " * 7,
    id_="p",
    metadata={"file_name": "p.pdf", "page_starts": [0, 12, 25]},
)


@pytest.mark.parametrize(
    ("quote", "page", "words"),
    [
        ("Tea is hot", (1, 1), ""),
        ("Tea is hot", (1, 2), ""),
        ("Tea is hot", (3, 3), "not on page 3, but on page 1; pages are counted from 1, whatever"),
        ("Tea is hot", (2, 3), "not on pages 2-3, but on page 1;"),
        ("Tea is", (2, 2), "not on page 2, but on pages 1 and 3;"),
        ("Tea is", (30, 30), "not on page 30, but on pages 1 and 3;"),
        ("Tea … green", (2, 2), "not on page 2, but on page 3;"),
        ("Tea is hot", None, ""),
    ],
)
def test_a_quote_on_another_page_than_its_label_names_is_kept_with_the_pages_it_is_on(
    quote: str, page: tuple[int, int] | None, words: str
) -> None:
    dataset = place_quotes(Quote(quote, "p.pdf", pages=page), documents=(PAGES,))
    [question] = dataset.questions
    concerns = [
        concern.detail for concern in check_dataset(dataset).concerns if "page" in concern.problem
    ]
    assert concerns == ([question.off_page] if words else [])
    assert words in question.off_page
    assert bool(words) == bool(question.off_page)


def test_a_page_of_a_document_without_pages_is_not_called_wrong() -> None:
    [question] = place_quotes(Quote("eighty degrees", "tea.md", pages=(3, 3))).questions
    assert question.off_page == ""


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (3, "it stands in more than 5 places on page 3; quote more words"),
        (
            1,
            "it stands in more than 5 places, but not on page 1; quote more words, or correct the ",
        ),
    ],
)
def test_a_frequent_quote_with_a_page_is_not_asked_for_the_page(page: int, words: str) -> None:
    dataset = place_quotes(Quote("So it is", "p.pdf", pages=(page, page)), documents=(PAGES,))
    assert dataset.not_located[0].reason.startswith(words)
    assert "name the page" not in dataset.not_located[0].reason


@pytest.mark.parametrize(("page", "start"), [(1, 0), (2, 21), (7, 0), (None, 0)])
def test_the_page_says_which_of_several_shortened_passages_is_meant_else_the_closest_parts(
    page: int | None, start: int
) -> None:
    text = "Tea takes hot water. Tea takes very long and hot water."
    paged = Document(text=text, id_="p", metadata={"file_name": "p", "page_starts": [0, 21]})
    quote = Quote("Tea takes … water", "p", pages=(page, page) if page else None)
    data = place_quotes(quote, documents=(paged,))
    assert data.questions[0].gold[0][0].span.start == start


def test_rows_of_one_question_that_all_quote_nothing_are_listed(tmp_path: Path) -> None:
    sheet = tmp_path / "questions.csv"
    sheet.write_text("question,answer\nWhen?,\nWhen?,\nHow?,eighty degrees\n", encoding="utf-8")
    dataset = load_dataset(sheet, [TEA])
    assert [question.text for question in dataset.not_located] == ["When?"]
    assert quotes_in(dataset) == ["eighty degrees"]
