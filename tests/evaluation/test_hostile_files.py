"""Files of questions that nobody checked: damaged, odd, or written to do harm."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from llama_index.core import Document

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.importers import load_dataset, plain_of
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.spans import Span

QUOTE = "Quiet hours begin at ten in the evening"
FERRY = Document(
    text=f"# Ferry\n\n{QUOTE}. Boats leave at noon.",
    id_="ferry",
    metadata={"file_name": "ferry.md", "source": "ferry.md"},
)


def loaded(folder: Path, name: str, content: str, *documents: Document) -> Dataset:
    path = folder / name
    path.write_text(content, "utf-8", newline="")
    return load_dataset(path, documents or [FERRY])


def spans(dataset: Dataset) -> list[list[Span]]:
    return [[answer[0].span for answer in one.gold] for one in dataset.questions]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("nested.json", "[" * 100_000),
        ("nested.jsonl", "[" * 100_000),
        ("nested.yaml", "[" * 1_200),
        ("blank.csv", "question,quote\n"),
    ],
)
def test_a_file_that_holds_no_list_of_questions_is_refused_by_name(
    tmp_path: Path, name: str, content: str
) -> None:
    with pytest.raises(DatasetError, match=name):
        loaded(tmp_path, name, content)


def test_halves_of_surrogate_pairs_are_replaced_so_that_a_report_can_be_written(
    tmp_path: Path,
) -> None:
    row = r'{"id": "\udc00", "question": "quiet \ud800?", "gold": "' + QUOTE + '"}'
    dataset = loaded(tmp_path, "q.json", f"[{row}]")
    assert [(one.id, one.text) for one in dataset.questions] == [("\ufffd", "quiet \ufffd?")]
    json.dumps(plain_of(dataset), ensure_ascii=False).encode()


def test_escaped_pairs_stay_the_characters_they_are(tmp_path: Path) -> None:
    row = r'{"question": "quiet \ud83d\ude00?", "gold": "' + QUOTE + '"}'
    assert loaded(tmp_path, "q.json", f"[{row}]").questions[0].text == "quiet \U0001f600?"


@pytest.mark.parametrize("others", [{"text": "Boats"}, "Boats leave"])
def test_alternatives_that_are_no_list_are_one_answer(tmp_path: Path, others: object) -> None:
    rows = [{"question": "When?", "gold": QUOTE, "alternatives": others}]
    found = spans(loaded(tmp_path, "q.json", json.dumps(rows)))
    assert len(found[0]) == 2


@pytest.mark.parametrize(
    ("within", "expected"), [("ferry.md", ("ferry",)), (["ferry.md"], ("ferry",)), ([], None)]
)
def test_one_document_to_search_may_be_named_without_a_list(
    tmp_path: Path, within: object, expected: object
) -> None:
    rows = [{"question": "When?", "gold": QUOTE, "within": within}]
    assert loaded(tmp_path, "q.json", json.dumps(rows)).questions[0].within == expected


def test_snippets_that_are_one_text_are_one_snippet(tmp_path: Path) -> None:
    text = f'questions:\n- query: When?\n  gold_snippets: "{QUOTE}"\n'
    assert spans(loaded(tmp_path, "q.yaml", text)) == [[Span(9, 9 + len(QUOTE))]]


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0c", "\x1e"])
def test_only_a_line_feed_ends_a_line_of_json_or_of_a_sheet(tmp_path: Path, mark: str) -> None:
    row = json.dumps({"question": f"a{mark}b?", "gold": QUOTE}, ensure_ascii=False)
    if mark >= " ":
        assert loaded(tmp_path, "q.jsonl", row).questions[0].text == f"a{mark}b?"
    sheet = loaded(tmp_path, "q.csv", f"question,quote\na{mark}b?,{QUOTE}\n")
    assert sheet.questions[0].text == f"a{mark}b?"


def test_a_question_that_is_null_is_no_question(tmp_path: Path) -> None:
    qa = {"id": 1, "question": None, "answers": [{"text": "b", "answer_start": 2}]}
    plain = {"data": [{"title": "T", "paragraphs": [{"context": "a b c", "qas": [qa]}]}]}
    (tmp_path / "squad.json").write_text(json.dumps(plain))
    dataset = load_dataset(tmp_path / "squad.json")
    assert not dataset.questions
    assert "no question" in dataset.unplaced[0].reason


def test_a_quote_of_one_letter_is_looked_for_no_longer_than_it_takes_to_give_up(
    tmp_path: Path,
) -> None:
    class Counting(str):
        """A text that counts how often it is searched."""

        __slots__ = ()
        searches = 0

        def find(self, *arguments: object) -> int:
            Counting.searches += 1
            return str.find(self, *arguments)  # type: ignore[arg-type]

    book = Document(text="e " * 1000, id_="book", metadata={"file_name": "book.txt"})
    book.text_resource.text = Counting(book.text)
    dataset = loaded(tmp_path, "q.csv", "question,quote\nWhich?,e\n", book)
    assert "more than 5 places" in dataset.unplaced[0].reason
    assert Counting.searches < 20


def test_documents_of_one_name_are_told_apart_in_what_is_written_down(tmp_path: Path) -> None:
    twins = [
        Document(text=f"{QUOTE} at pier {pier}.", id_=f"d{pier}",
                 metadata={"file_name": "readme.md", "source": f"/{pier}/readme.md"})
        for pier in (1, 2)
    ]  # fmt: skip
    rows = [{"question": "Where?", "gold": f"{QUOTE} at pier 2", "within": ["/2/readme.md"]}]
    dataset = loaded(tmp_path, "q.json", json.dumps(rows), *twins)
    again = loaded(tmp_path, "q.json", json.dumps(plain_of(dataset)), *twins)
    assert again == dataset
    assert again.questions[0].document == "d2"


def test_a_question_that_does_not_search_where_its_answer_is_cannot_be_measured(
    tmp_path: Path,
) -> None:
    other = Document(text="Nothing of it.", id_="other", metadata={"file_name": "other.md"})
    rows = [{"question": "When?", "gold": QUOTE, "within": ["other.md"]}]
    dataset = loaded(tmp_path, "q.json", json.dumps(rows), FERRY, other)
    assert "none of the documents that it searches" in dataset.unplaced[0].reason
    gold = ((Passage("ferry", Span(9, 20)),),)
    with pytest.raises(DatasetError, match="searches documents without its answer"):
        Dataset("q", (FERRY, other), (Question("q", "When?", gold, within=("other",)),))


def test_an_answer_out_of_two_documents_is_looked_for_in_both() -> None:
    other = Document(text="Boats leave at noon.", id_="other")
    gold = ((Passage("ferry", Span(9, 20)), Passage("other", Span(0, 5))),)
    dataset = Dataset("q", (FERRY, other), (Question("q", "When?", gold),))
    assert dataset.narrowed().questions[0].within == ("ferry", "other")


@pytest.mark.parametrize("quote", ["…", "...", "… … …", "(...)"])
def test_an_ellipsis_alone_quotes_nothing_though_it_stands_in_the_document(
    tmp_path: Path, quote: str
) -> None:
    book = Document(text="Boats … and ... so on (...).", id_="book", metadata={"file_name": "b"})
    dataset = loaded(tmp_path, "q.json", json.dumps([{"question": "a?", "gold": quote}]), book)
    assert [one.reason for one in dataset.unplaced] == [
        "no answer is quoted; quote the words that answer it"
    ]


@pytest.mark.parametrize("gold", [float("nan"), [["x"]], True, {"text": None}, [{}, [[1]]]])
def test_what_is_no_quote_is_listed_as_an_answer_that_is_missing(
    tmp_path: Path, gold: object
) -> None:
    dataset = loaded(tmp_path, "q.json", json.dumps([{"question": "a?", "gold": gold}]))
    assert dataset.unplaced[0].reason.startswith("no answer is quoted")


@pytest.mark.parametrize(
    "quote",
    ["Quiet" + " " * 20_000 + "hours begin at ten", "the … the … the … the"],
)
def test_a_quote_made_to_take_long_is_read_at_once(tmp_path: Path, quote: str) -> None:
    book = Document(
        text=f"{QUOTE} " + "the cat sat on the mat and " * 10_000,
        id_="book",
        metadata={"file_name": "b"},
    )
    start = time.process_time()
    loaded(tmp_path, "q.json", json.dumps([{"question": "a?", "gold": quote}]), book)
    assert time.process_time() - start < 3


@pytest.mark.parametrize("title", [".", "./.", "/", "..", "..."])
def test_a_document_may_have_dots_for_a_title(tmp_path: Path, title: str) -> None:
    book = Document(text=QUOTE, id_="book", metadata={"title": title})
    rows = json.dumps([{"question": "a?", "gold": QUOTE}])
    assert spans(loaded(tmp_path, "q.json", rows, book)) == [[Span(0, len(QUOTE))]]


def test_entries_that_are_no_rows_are_counted(tmp_path: Path) -> None:
    rows = [{"question": "a?", "gold": QUOTE}, "hello", 5, None, ["q", "a"]]
    dataset = loaded(tmp_path, "q.json", json.dumps(rows))
    assert len(dataset.questions) == 1
    assert dataset.left_out == {"something else than a question with its columns": 4}


def test_of_columns_of_unequal_length_no_question_is_lost_in_silence(tmp_path: Path) -> None:
    plain = {"question": ["a?", "b?"], "answer": [QUOTE]}
    dataset = loaded(tmp_path, "q.json", json.dumps(plain))
    assert [one.id for one in dataset.questions] == ["q1"]
    assert [one.id for one in dataset.unplaced] == ["q2"]


def test_a_key_without_a_name_is_no_mark_of_a_draft(tmp_path: Path) -> None:
    rows = json.dumps([{"": "x", "question": "a?", "gold": QUOTE}])
    assert not loaded(tmp_path, "q.json", rows).questions[0].draft


def test_a_quotation_mark_that_nobody_closed_does_not_swallow_the_rows_below(
    tmp_path: Path,
) -> None:
    sheet = f'question,quote\na?,"{QUOTE}\nb?,Boats leave at noon\n'
    with pytest.raises(DatasetError, match=r"q\.csv has a quotation mark that is not closed"):
        loaded(tmp_path, "q.csv", sheet)
    ends = f'question,quote\na?,"{QUOTE}"'
    assert len(loaded(tmp_path, "q.csv", ends).questions) == 1


@pytest.mark.parametrize("above", ["\n", ",,\n", ";;\r\n\r\n"])
def test_blank_lines_above_the_header_are_passed_over(tmp_path: Path, above: str) -> None:
    mark = above[0] if above[0] in ",;" else ","
    sheet = f"{above}question{mark}quote\na?{mark}{QUOTE}\n"
    assert len(loaded(tmp_path, "q.csv", sheet).questions) == 1


def test_an_empty_column_does_not_empty_another_of_its_name(tmp_path: Path) -> None:
    sheet = f"question,quote,quote\na?,{QUOTE},\n"
    assert len(loaded(tmp_path, "q.csv", sheet).questions) == 1


def test_judgements_of_beir_may_hold_a_quotation_mark_and_odd_digits(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    passages = [{"_id": '"p', "text": QUOTE}, {"_id": "o", "text": "Boats"}]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, passages)))
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "a?"}))
    (tmp_path / "qrels" / "test.tsv").write_text('q\t"p\t1\nq\to\t²\n')
    dataset = load_dataset(tmp_path)
    assert [len(one.gold) for one in dataset.questions] == [1]
