"""Labelled questions in every format that people have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.importers import load_dataset, own

TEXT = "Green tea takes eighty degrees. Black tea takes boiling water. Mate is a matter of taste."
TEA = Document(text=TEXT, id_="tea", metadata={"file_name": "tea.md", "source": "tea.md"})


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def gold(dataset: Dataset) -> list[list[list[str]]]:
    return [
        [[dataset.quote(one) for one in answer] for answer in question.gold]
        for question in dataset.questions
    ]


def test_our_own_json_holds_passages_alternatives_kinds_and_scopes(tmp_path: Path) -> None:
    row = {
        "id": "q1", "question": "How hot?", "document": "tea.md", "kind": "fact",
        "gold": [{"start": 16, "end": 30, "text": "eighty degrees"}, {"text": "boiling water"}],
        "alternatives": [[{"text": "matter of taste"}]], "within": ["tea.md"], "draft": True,
    }  # fmt: skip
    dataset = load_dataset(write(tmp_path / "q.json", {"questions": [row]}), [TEA])
    (question,) = dataset.questions
    assert gold(dataset) == [[["eighty degrees", "boiling water"], ["matter of taste"]]]
    assert (question.kind, question.within, question.draft) == ("fact", ("tea",), True)


@pytest.mark.parametrize("value", ["true", "false", 1])
def test_a_mark_of_a_draft_that_could_mean_either_is_refused(tmp_path: Path, value: object) -> None:
    row = {"id": "q7", "question": "How hot?", "gold": "eighty degrees", "draft": value}
    with pytest.raises(DatasetError, match=r"q\.json: question 'q7' .* write true or false"):
        load_dataset(write(tmp_path / "q.json", [row]), [TEA])


@pytest.mark.parametrize(
    ("cells", "drafts"),
    [
        (("true", "false"), (True, False)),
        (("WAHR", "FALSCH"), (True, False)),
        (("x", ""), (True, False)),
        (("Yes", "no"), (True, False)),
        (("1", "0"), (True, False)),
    ],
)
def test_a_sheet_marks_drafts_as_json_does(
    tmp_path: Path, cells: tuple[str, str], drafts: tuple[bool, bool]
) -> None:
    sheet = (
        f"question,quote,Draft\nHow hot is green?,eighty degrees,{cells[0]}\n"
        f"How hot is black?,boiling water,{cells[1]}\n"
    )
    questions = load_dataset(write(tmp_path / "q.csv", sheet), [TEA]).questions
    assert tuple(one.draft for one in questions) == drafts


def test_a_mark_of_a_draft_that_no_sheet_has_is_refused(tmp_path: Path) -> None:
    sheet = "id,question,quote,draft\nq7,How hot?,eighty degrees,perhaps\n"
    with pytest.raises(DatasetError, match=r"q\.csv: question 'q7' has 'perhaps' .*true or false"):
        load_dataset(write(tmp_path / "q.csv", sheet), [TEA])


def test_of_several_passages_one_that_is_marked_makes_the_question_a_draft(tmp_path: Path) -> None:
    sheet = "id,question,quote,draft\nq,How hot?,eighty degrees,\nq,How hot?,boiling water,x\n"
    (question,) = load_dataset(write(tmp_path / "q.csv", sheet), [TEA]).questions
    assert question.draft


def test_what_is_written_down_is_read_again_as_it_was(tmp_path: Path) -> None:
    rows = [{"question": "How hot?", "gold": [{"text": "eighty degrees"}], "within": ["tea.md"]}]
    dataset = load_dataset(write(tmp_path / "a" / "q.json", rows), [TEA])
    again = load_dataset(write(tmp_path / "b" / "q.json", own.plain_of(dataset)), [TEA])
    assert again == dataset


def test_json_lines_are_one_question_each(tmp_path: Path) -> None:
    rows = [
        {"question": "How hot?", "gold": "eighty degrees"},
        {"question": "?", "gold": ["taste"]},
    ]
    lines = "\n\n".join(map(json.dumps, rows))
    assert gold(load_dataset(write(tmp_path / "q.jsonl", lines), [TEA])) == [
        [["eighty degrees"]],
        [["taste"]],
    ]


def test_chromas_csv_finds_its_corpora_beside_it(tmp_path: Path) -> None:
    write(tmp_path / "corpora" / "tea.md", TEXT)
    references = json.dumps([{"content": "eighty degrees", "start_index": 16, "end_index": 30}])
    sheet = 'question,references,corpus_id\nHow hot?,"' + references.replace('"', '""') + '",tea\n'
    dataset = load_dataset(write(tmp_path / "questions_df.csv", sheet))
    assert gold(dataset) == [[["eighty degrees"]]]
    assert dataset.documents[0].text == TEXT


SQUAD = {
    "data": [
        {
            "title": "Tea",
            "paragraphs": [
                {"context": "An introduction.", "qas": []},
                {
                    "context": TEXT,
                    "qas": [
                        {
                            "id": "a",
                            "question": "How hot?",
                            "answers": [
                                {"text": "eighty degrees", "answer_start": 16},
                                {"text": "eighty degrees", "answer_start": 16},
                                {"text": "eighty", "answer_start": 17},
                            ],
                        },
                        {"id": "b", "question": "Why?", "answers": [], "is_impossible": True},
                    ],
                },
            ],
        }
    ]
}
CMRC = [
    {
        "context_id": "T1",
        "context_text": TEXT,
        "qas": [{"query_id": "a", "query_text": "How hot?", "answers": ["eighty degrees"]}],
    }
]
QASPER = {
    "1234.5678": {
        "title": "On tea",
        "abstract": "We drink.",
        "full_text": [
            {"section_name": "Methods", "paragraphs": ["Green tea takes eighty degrees."]},
            {"section_name": "Methods ::: Mate", "paragraphs": ["Mate is a matter of taste."]},
        ],
        "qas": [
            {
                "question": "How hot?",
                "question_id": "x",
                "answers": [
                    {"answer": {"evidence": ["Green tea takes eighty degrees."],
                                "highlighted_evidence": []}},
                    {"answer": {"unanswerable": True, "evidence": []}},
                    {"answer": {"evidence": ["FLOAT SELECTED: Table 1"]}},
                ],
            }
        ],
    }
}  # fmt: skip


@pytest.mark.parametrize(
    ("content", "answers", "title"),
    [
        (SQUAD, [[["eighty degrees"], ["eighty"]]], "Tea"),
        (CMRC, [[["eighty degrees"]]], "T1"),
        (QASPER, [[["Green tea takes eighty degrees."]]], "1234.5678"),
    ],
)
def test_files_that_bring_their_texts_need_no_documents(
    tmp_path: Path, content: Any, answers: list[Any], title: str
) -> None:
    dataset = load_dataset(write(tmp_path / "data.json", content))
    assert gold(dataset) == answers
    assert dataset.names[dataset.questions[0].document] == title
    assert not dataset.unplaced


def test_sections_of_a_paper_are_headings(tmp_path: Path) -> None:
    dataset = load_dataset(write(tmp_path / "papers.json", QASPER))
    assert dataset.documents[0].text.split("\n\n")[2:5:2] == ["## Methods", "### Mate"]


def test_a_folder_of_beir_has_passages_of_one_title_in_one_document(tmp_path: Path) -> None:
    passages = [
        {"_id": "p1", "title": "Tea", "text": "Green tea takes eighty degrees."},
        {"_id": "p2", "title": "Tea", "text": "Mate is a matter of taste."},
        {"_id": "p3", "title": "", "text": "Alone."},
    ]
    write(tmp_path / "corpus.jsonl", "\n".join(map(json.dumps, passages)))
    write(tmp_path / "queries.jsonl", '{"_id": "q1", "text": "How hot?"}')
    write(tmp_path / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\nq1\tp1\t1\nq1\tp2\t0\n")
    dataset = load_dataset(tmp_path)
    assert gold(dataset) == [[["Green tea takes eighty degrees."]]]
    assert len(dataset.documents) == 2


def test_snippets_of_legalbench_lie_in_files_of_the_corpus_and_nowhere_else(tmp_path: Path) -> None:
    write(tmp_path / "corpus" / "deals" / "tea.txt", TEXT)
    write(tmp_path / "secret.txt", "Not in the corpus.")
    tests = [
        {"query": "How hot?", "tags": ["fact"],
         "snippets": [{"file_path": "deals/tea.txt", "span": [16, 30]}]},
        {"query": "Who?", "snippets": [{"file_path": "../secret.txt", "span": [0, 3]}]},
    ]  # fmt: skip
    dataset = load_dataset(write(tmp_path / "benchmarks" / "deals.json", {"tests": tests}))
    assert gold(dataset) == [[["eighty degrees"]]]
    assert [one.text for one in dataset.documents] == [TEXT]
    assert len(dataset.unplaced) == 1


def test_chunklabs_snippets_are_all_wanted_and_a_list_among_them_is_a_choice(
    tmp_path: Path,
) -> None:
    yaml = (
        "questions:\n- id: a\n  query: How hot?\n  reviewed: false\n  gold_snippets:\n"
        "  - eighty degrees\n  - [boiling water, matter of taste]\n"
    )
    dataset = load_dataset(write(tmp_path / "questions.yaml", yaml), [TEA])
    assert gold(dataset) == [
        [["eighty degrees", "boiling water"], ["eighty degrees", "matter of taste"]]
    ]
    assert dataset.questions[0].draft


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_sheet_has_questions_quotes_and_files(tmp_path: Path, delimiter: str) -> None:
    rows = [["Question", " Quote ", "File"], ["How hot?", "eighty degrees", "tea.md"],
            ["How hot?", "boiling water", "tea.md"], ["Mate?", "matter of taste", ""]]  # fmt: skip
    text = "\n".join(delimiter.join(row) for row in rows)
    dataset = load_dataset(write(tmp_path / "sheet.csv", text), [TEA])
    assert gold(dataset) == [[["eighty degrees", "boiling water"]], [["matter of taste"]]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.json", "{", "not valid JSON"),
        ("q.json", '{"something": 1}', "no known format"),
        ("q.jsonl", '{"question": "a", "gold": "b"}\nnot json', "line 2"),
        ("q.csv", "a,b\n1,2\n", "no column 'question'"),
        ("q.yaml", "questions: 3", "a list `questions`"),
        ("q.yaml", "a: [", "not valid YAML"),
        ("q.xlsx", "x", "save a sheet as CSV"),
        ("q.json", {"data": [{"paragraphs": [{"qas": []}]}]}, "looks like SQuAD"),
        ("q.json", [{"question": "a", "gold": "b"}], "name the files they are about"),
    ],
)
def test_a_file_that_cannot_be_used_says_why_and_what_to_do(
    tmp_path: Path, name: str, content: object, message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        load_dataset(write(tmp_path / name, content))


def test_a_folder_or_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"nowhere\.json"):
        load_dataset(tmp_path / "nowhere.json")
    with pytest.raises(DatasetError, match="not one of BEIR"):
        load_dataset(tmp_path)


def test_a_corpus_of_chromas_csv_lies_beside_it_and_nowhere_else(tmp_path: Path) -> None:
    write(tmp_path / "secret.md", TEXT)
    row = '"How hot?","[{""content"": ""eighty degrees""}]",../secret\n'
    path = write(tmp_path / "set" / "q.csv", f"question,references,corpus_id\n{row}")
    with pytest.raises(DatasetError, match="no documents"):
        load_dataset(path)


def test_aliases_of_yaml_which_can_stand_for_any_amount_are_refused(tmp_path: Path) -> None:
    text = "a: &a [Green, Black]\nquestions:\n- {query: How hot, gold_snippets: *a}\n"
    with pytest.raises(DatasetError, match="aliases"):
        load_dataset(write(tmp_path / "q.yaml", text), [TEA])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.json", "[" * 200_000),
        ("q.json", [{"question": "How hot?", "gold": "tea", "alternatives": 5}]),
        ("q.json", {"data": [{"paragraphs": [{"context": "a", "qas": 5}]}]}),
        ("q.yaml", "questions:\n- {query: How hot, gold_snippets: 5}\n"),
    ],
)
def test_what_does_not_belong_into_a_file_is_an_error_of_ours(
    name: str, content: object, tmp_path: Path
) -> None:
    with pytest.raises(DatasetError):
        load_dataset(write(tmp_path / name, content), [TEA])


def test_a_name_that_no_file_can_have_is_looked_up_nowhere(tmp_path: Path) -> None:
    snippet = {"file_path": "\0", "span": [0, 1]}
    content = {"tests": [{"query": "How hot?", "snippets": [snippet]}]}
    dataset = load_dataset(write(tmp_path / "q.json", content), [TEA])
    assert len(dataset.unplaced) == 1


def test_two_documents_of_one_name_are_told_apart_when_questions_are_read_again(
    tmp_path: Path,
) -> None:
    first = Document(text=TEXT, id_="one", metadata={"file_name": "tea.md"})
    other = Document(text="Another text.", id_="two", metadata={"file_name": "tea.md"})
    row = {"question": "How hot?", "gold": [{"text": "eighty degrees"}]}
    dataset = load_dataset(write(tmp_path / "q.json", [row]), [first, other])
    plain = own.plain_of(dataset)
    assert plain["questions"][0]["gold"][0]["document"] == "one"
    again = load_dataset(write(tmp_path / "again.json", plain), [first, other])
    assert again.questions == dataset.questions


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_a_sheet_is_read_as_spreadsheets_save_it(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    sheet = "question;quote\r\nWie viel Tee für Grüße, höchstens?;Black tea takes boiling water\r\n"
    path.write_bytes(sheet.encode(encoding))
    (question,) = load_dataset(path, [TEA]).questions
    assert question.text == "Wie viel Tee für Grüße, höchstens?"


def test_a_row_that_stands_twice_is_one_passage(tmp_path: Path) -> None:
    sheet = "question,quote\n" + "How hot?,Black tea takes boiling water\n" * 2
    (question,) = load_dataset(write(tmp_path / "twice.csv", sheet), [TEA]).questions
    assert [len(answer) for answer in question.gold] == [1]
