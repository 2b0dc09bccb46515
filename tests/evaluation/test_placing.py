"""Quotes become characters of a document, or stand in a list with the reason."""

from __future__ import annotations

import pytest
from llama_index.core import Document

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.importers import place
from rag_nodes.evaluation.importers.labels import Labelled, Labels, Quote
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


def placed(*quotes: Quote, documents: tuple[Document, ...] = (TEA, OTHER)) -> Dataset:
    labels = Labels("test", (Labelled("q", "What?", (quotes,)),))
    return place(labels, documents, "test")


def quoted(dataset: Dataset) -> list[str]:
    return [dataset.quote(answer[0]) for answer in dataset.questions[0].gold]


def test_offsets_are_believed_where_the_words_stand_there() -> None:
    found = placed(Quote("eighty degrees", "tea.md", 16, 30))
    assert quoted(found) == ["eighty degrees"]
    assert found.questions[0].confidence == 1.0


def test_words_that_moved_are_found_again_nearest_to_where_they_were() -> None:
    found = placed(Quote("a short word stands", "tea.md", 130, 149))
    assert quoted(found) == ["a short word stands"]
    assert found.questions[0].gold[0][0].span.start == TEXT.index("a short word stands")


def test_of_several_places_the_nearest_to_the_offset_is_meant() -> None:
    text = "The bell rings. " * 5
    document = Document(text=text, id_="bell")
    for start in (0, 16, 48, 64):
        found = placed(
            Quote("The bell rings.", "bell", start + 3, start + 18), documents=(document,)
        )
        assert found.questions[0].gold == ((Passage("bell", Span(start, start + 15)),),)


@pytest.mark.parametrize(("times", "answers"), [(5, 5), (6, 0)])
def test_five_places_are_alternatives_and_six_are_a_phrase(times: int, answers: int) -> None:
    document = Document(text="The bell rings. " * times, id_="bell")
    found = placed(Quote("The bell rings."), documents=(document,))
    assert sum(len(one.gold) for one in found.questions) == answers
    assert len(found.unplaced) == (answers == 0)


def test_every_place_of_a_quote_is_an_answer_that_is_enough() -> None:
    found = placed(Quote("short word stands"))
    assert quoted(found) == ["short word stands"] * 2


def test_a_quote_that_stands_everywhere_is_listed_and_not_guessed() -> None:
    found = placed(Quote("e"))
    assert found.questions == ()
    assert "more than 5 places" in found.unplaced[0].reason


def test_other_blank_space_quotation_marks_dashes_and_case_do_not_hide_a_quote() -> None:
    found = placed(Quote('black tea takes "boiling" water - and patience'))
    assert quoted(found) == ["Black  tea takes “boiling” water \u2013 and patience"]
    assert found.questions[0].confidence == 1.0


def test_something_like_a_quote_is_found_with_less_confidence_and_whole_words() -> None:
    found = placed(Quote("Green tee takes eighty degrees and tree minutes."))
    assert quoted(found) == ["Green tea takes eighty degrees and three minutes"]
    assert 0.85 <= found.questions[0].confidence < 1.0


def test_what_is_only_half_like_a_quote_is_not_taken_for_it() -> None:
    found = placed(Quote("Green tea takes seventy litres and nine of the hours."))
    assert found.questions == ()


def test_words_of_few_letters_are_looked_for_as_they_are_spelt() -> None:
    assert placed(Quote("GREEN TEA TAKES EIGHT")).questions == ()
    assert quoted(placed(Quote("GREEN TEA TAKES EIGHTY D"))) == ["Green tea takes eighty d"]
    assert placed(Quote("eighty degress")).questions == ()


def test_a_text_that_is_shorter_than_a_quote_does_not_hold_it() -> None:
    longer = Quote("Nothing about drinks. All of it is about the sea, and about the ships on it.")
    assert placed(longer, documents=(OTHER,)).questions == ()


def test_of_documents_that_hold_something_like_a_quote_the_one_most_like_it_is_taken() -> None:
    quote = Quote("The keeper lights the lamp of the tower at dusk.")
    less = Document(text="A keeper lit the lamps of the tower at dusk. More.", id_="less")
    more = Document(text="The keeper lights the lamp of a tower at dusk. More.", id_="more")
    for documents in ((less, more), (more, less)):
        found = placed(quote, documents=documents)
        assert [one.gold[0][0].document for one in found.questions] == ["more"]


def test_a_question_is_as_sure_as_its_surest_answer_and_that_as_its_least_sure_part() -> None:
    exact, like = Quote("eighty degrees"), Quote("Green tee takes eighty degrees and tree minutes.")
    for gold, sure in (
        (((exact,), (like,)), True),
        (((like,), (exact,)), True),
        (((exact, like),), False),
    ):
        found = place(Labels("test", (Labelled("q", "What?", gold),)), (TEA,), "test")
        assert (found.questions[0].confidence == 1.0) is sure


def test_a_character_that_nobody_sees_before_a_quote_does_not_empty_it() -> None:
    found = placed(Quote("\ufeffGreen tea takes eighty degrees and three minutes."))
    assert quoted(found) == ["Green tea takes eighty degrees and three minutes."]


@pytest.mark.parametrize(
    "quote",
    [
        Quote("Coffee is never mentioned anywhere in these notes"),
        Quote("eighty degrees", "missing.md"),
        Quote("", "tea.md"),
        Quote("", "tea.md", 400, 410),
        Quote("", "tea.md", None, 10),
    ],
)
def test_what_cannot_be_placed_is_listed_with_a_reason(quote: Quote) -> None:
    found = placed(quote)
    assert found.questions == ()
    assert found.unplaced[0].id == "q"
    assert len(found.unplaced[0].reason) > 20


@pytest.mark.parametrize("name", ["tea", "tea.md", "hot/tea.md", "/notes/hot/tea.md", "hot/tea"])
def test_a_document_is_known_by_its_id_its_name_and_any_end_of_its_path(name: str) -> None:
    assert quoted(placed(Quote("eighty degrees", name))) == ["eighty degrees"]


def test_a_name_that_two_documents_have_is_not_guessed() -> None:
    twin = Document(text=TEXT, id_="twin", metadata={"source": "/notes/cold/tea.md"})
    found = placed(Quote("eighty degrees", "tea.md"), documents=(TEA, twin))
    assert "2 documents are called" in found.unplaced[0].reason


def test_an_alternative_that_is_gone_does_not_take_the_others_with_it() -> None:
    asked = Labelled(
        "q", "What?", ((Quote("gone from here altogether, sorry"),), (Quote("patience"),))
    )
    found = place(Labels("test", (asked,)), (TEA,), "test")
    assert quoted(found) == ["patience"]


def test_a_question_without_an_answer_or_without_words_is_listed() -> None:
    labels = Labels(
        "test", (Labelled("a", "", ((Quote("patience"),),)), Labelled("b", "What?", ()))
    )
    assert [one.id for one in place(labels, (TEA,), "test").unplaced] == ["a", "b"]


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
    made = tuple(Question(name, "?", ((Passage("tea", span),),)) for name, span in questions)
    with pytest.raises(DatasetError, match=message):
        Dataset("test", (TEA,), made)


def test_equal_data_has_an_equal_fingerprint_wherever_it_was_read() -> None:
    moved = Document(text=TEXT, id_="elsewhere", metadata={"source": "/else/tea.md"})
    here, there = placed(Quote("patience")), placed(Quote("patience"), documents=(moved, OTHER))
    assert here.fingerprint == there.fingerprint
    assert here.fingerprint != placed(Quote("minutes")).fingerprint


@pytest.mark.parametrize(
    ("text", "quote", "start"),
    [("Often at ten.", "ten", 9), ("Room 2010, floor 10.", "10", 17), ("Øst, st", "st", 5)],
)
def test_a_short_quote_is_not_found_within_a_word_where_it_stands_alone(
    text: str, quote: str, start: int
) -> None:
    found = placed(Quote(quote), documents=(Document(text=text, id_="d"),))
    assert [answer[0].span.start for answer in found.questions[0].gold] == [start]


def test_a_quote_that_begins_within_a_word_is_found_there_and_nowhere_else() -> None:
    found = placed(Quote("ighty degrees"), documents=(TEA,))
    assert quoted(found) == ["ighty degrees"]


@pytest.mark.parametrize(
    ("text", "quote"),
    [("横浜行きの船。船は出る。", "船"), ("배가 밤 열 시에 떠난다. 배", "배")],
)
def test_scripts_without_spaces_have_words_everywhere(text: str, quote: str) -> None:
    found = placed(Quote(quote), documents=(Document(text=text, id_="d"),))
    assert len(found.questions[0].gold) == 2


def test_the_page_says_which_of_several_shortened_passages_is_meant() -> None:
    text = "Tea takes hot water. Tea takes very long and hot water."
    paged = Document(text=text, id_="p", metadata={"file_name": "p", "page_starts": [0, 21]})
    for page, start in ((1, 0), (2, 21), (7, 0)):
        found = placed(Quote("Tea takes … water", "p", pages=(page, page)), documents=(paged,))
        assert found.questions[0].gold[0][0].span.start == start, page


def test_a_file_may_be_named_as_windows_names_it() -> None:
    found = placed(Quote("eighty degrees", r"C:\notes\tea.md"))
    assert quoted(found) == ["eighty degrees"]


@pytest.mark.parametrize("quote", ["Eighty Degrees", "GREEN TEA"])
def test_a_short_quote_in_another_case_is_found_in_whole_words(quote: str) -> None:
    assert [one.lower() for one in quoted(placed(Quote(quote)))] == [quote.lower()]
    assert placed(Quote("EIGH")).questions == ()
