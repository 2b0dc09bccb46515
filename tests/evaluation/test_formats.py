"""Labelled questions in every format that people have."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import openpyxl
import pytest
from llama_index.core import Document

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.importers import load_dataset, plain_of, read_labels

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
def test_drafts_are_marked_in_any_of_the_usual_ways(
    tmp_path: Path, cells: tuple[str, str], drafts: tuple[bool, bool]
) -> None:
    sheet = (
        f"question,quote,Draft\nHow hot is green?,eighty degrees,{cells[0]}\n"
        f"How hot is black?,boiling water,{cells[1]}\n"
    )
    questions = load_dataset(write(tmp_path / "q.csv", sheet), [TEA]).questions
    assert tuple(one.draft for one in questions) == drafts


def test_a_mark_of_a_draft_that_says_nothing_is_refused(tmp_path: Path) -> None:
    sheet = "id,question,quote,draft\nq7,How hot?,eighty degrees,perhaps\n"
    with pytest.raises(DatasetError, match=r"q\.csv: question 1 \(q7\) has 'perhaps' .*true or"):
        load_dataset(write(tmp_path / "q.csv", sheet), [TEA])


def test_of_several_passages_one_that_is_marked_makes_the_question_a_draft(tmp_path: Path) -> None:
    sheet = "id,question,quote,draft\nq,How hot?,eighty degrees,\nq,How hot?,boiling water,x\n"
    (question,) = load_dataset(write(tmp_path / "q.csv", sheet), [TEA]).questions
    assert question.draft


def test_what_is_written_down_is_read_again_as_it_was(tmp_path: Path) -> None:
    rows = [{"question": "How hot?", "gold": [{"text": "eighty degrees"}], "within": ["tea.md"]}]
    dataset = load_dataset(write(tmp_path / "a" / "q.json", rows), [TEA])
    again = load_dataset(write(tmp_path / "b" / "q.json", plain_of(dataset)), [TEA])
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


def test_chromas_csv_is_about_its_corpora(tmp_path: Path) -> None:
    references = json.dumps([{"content": "eighty degrees", "start_index": 16, "end_index": 30}])
    sheet = 'question,references,corpus_id\nHow hot?,"' + references.replace('"', '""') + '",tea\n'
    path = write(tmp_path / "questions_df.csv", sheet)
    other = Document(text="_" * 16 + "eighty degrees", id_="other")
    assert gold(load_dataset(path, [other, TEA])) == [[["eighty degrees"]]]
    assert read_labels(path).form == "Chroma's CSV"


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


def test_squad_brings_its_texts_and_annotators_answers_are_alternatives(tmp_path: Path) -> None:
    dataset = load_dataset(write(tmp_path / "data.json", SQUAD))
    assert gold(dataset) == [[["eighty degrees"], ["eighty"]]]
    assert dataset.names[dataset.questions[0].document] == "Tea"
    assert not dataset.unplaced


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


# Each as its publisher's documentation has it, the texts apart.
OF_TOOLS: dict[str, tuple[str, object]] = {
    "LlamaIndex's LabelledRagDataset": (
        "rag_dataset.json",
        {
            "examples": [
                {
                    "query": "How hot?",
                    "query_by": {"model_name": "gpt-4", "type": "ai"},
                    "reference_contexts": ["Green tea takes eighty degrees."],
                    "reference_answer": "It takes 80 degrees.",
                    "reference_answer_by": {"model_name": "gpt-4", "type": "ai"},
                }
            ]
        },
    ),
    "LlamaIndex's EmbeddingQAFinetuneDataset": (
        "pairs.json",
        {
            "queries": {"q-1": "How hot?"},
            "corpus": {"node-1": "Green tea takes eighty degrees.", "node-2": "Black tea"},
            "relevant_docs": {"q-1": ["node-1"]},
            "mode": "text",
        },
    ),
    "RAGAS": (
        "testset.jsonl",
        json.dumps(
            {
                "user_input": "How hot?",
                "reference_contexts": ["Green tea takes eighty degrees."],
                "reference": "It takes 80 degrees.",
                "synthesizer_name": "single_hop_specific_query_synthesizer",
            }
        ),
    ),
    "RAGAS, as pandas writes it": (
        "testset.csv",
        (
            "user_input,reference_contexts,reference,synthesizer_name\n"
            "How hot?,\"['Green tea takes eighty degrees.']\",80 degrees.,single_hop\n"
        ),
    ),
    "RAGAS 0.1": (
        "old.csv",
        (
            "question,contexts,ground_truth,evolution_type,metadata,episode_done\n"
            "How hot?,\"['Green tea takes eighty degrees.']\",80 degrees.,simple,[{}],True\n"
        ),
    ),
    "TruLens": (
        "golden.json",
        [
            {
                "query": "How hot?",
                "query_id": "1",
                "expected_response": "80 degrees.",
                "expected_chunks": [
                    {"text": "Green tea takes eighty degrees.", "title": "Tea", "expected_score": 1}
                ],
            }
        ],
    ),
    "TruLens, as pandas writes it": (
        "golden.json",
        {
            "query": {"0": "How hot?"},
            "expected_chunks": {"0": ["Green tea takes eighty degrees."]},
        },
    ),
    "LangSmith": (
        "examples.jsonl",
        json.dumps(
            {
                "id": "0a3f",
                "inputs": {"question": "How hot?"},
                "outputs": {"answer": "Green tea takes eighty degrees."},
                "metadata": {"dataset_split": ["base"]},
            }
        ),
    ),
    "promptfoo": (
        "promptfooconfig.yaml",
        (
            "prompts: ['{{query}}']\nproviders: [openai:gpt-5-mini]\ntests:\n"
            "  - vars:\n      query: How hot?\n    assert:\n"
            "      - type: context-recall\n        threshold: 0.9\n"
            "        value: Green tea takes eighty degrees.\n"
            "      - type: latency\n        threshold: 200\n"
        ),
    ),
    "a sheet of promptfoo": (
        "tests.csv",
        (
            "question,__expected,__expected2\n"
            "How hot?,contains: Green tea takes eighty degrees.,latency(100)\n"
        ),
    ),
    "LegalBench-RAG": (
        "deals.json",
        {
            "tests": [
                {
                    "query": "How hot?",
                    "tags": ["tea"],
                    "snippets": [
                        {
                            "file_path": "corpus/tea.md",
                            "span": [0, 31],
                            "answer": "Green tea takes eighty degrees.",
                        }
                    ],
                }
            ]
        },
    ),
}


@pytest.mark.parametrize("tool", OF_TOOLS)
def test_questions_of_a_tool_are_read_as_it_writes_them(tmp_path: Path, tool: str) -> None:
    name, content = OF_TOOLS[tool]
    path = write(tmp_path / name, content)
    dataset = load_dataset(path, [TEA])
    assert gold(dataset) == [[["Green tea takes eighty degrees."]]]
    assert [one.text for one in dataset.questions] == ["How hot?"]
    assert read_labels(path).form in tool.replace("a sheet of ", "")


def test_what_a_system_answered_is_no_gold(tmp_path: Path) -> None:
    row = {"question": "How hot?", "answer": "Black tea takes boiling water.", "contexts": ["?"]}
    truth = {**row, "ground_truth": "Green tea takes eighty degrees."}
    assert gold(load_dataset(write(tmp_path / "q.json", [truth]), [TEA])) == [
        [["Green tea takes eighty degrees."]]
    ]


def test_of_assertions_any_of_which_holds_each_is_an_answer(tmp_path: Path) -> None:
    either = {"type": "contains-any", "value": ["eighty degrees", "boiling water"]}
    test = {"vars": {"question": "How hot?"}, "assert": [either]}
    path = write(tmp_path / "tests.json", {"tests": [test]})
    assert gold(load_dataset(path, [TEA])) == [[["eighty degrees"], ["boiling water"]]]


SQUAD_LINES = [
    {"id": "a", "title": "Tea", "context": TEXT, "question": "How hot?",
     "answers": {"text": ["eighty degrees"], "answer_start": [16]}},
    {"id": "b", "title": "Tea", "context": TEXT, "question": "And mate?",
     "answers": {"text": ["a matter of taste"], "answer_start": [71]}},
    {"id": "c", "title": "Tea", "context": TEXT, "question": "Why?",
     "answers": {"text": [], "answer_start": []}},
]  # fmt: skip


def test_squad_a_question_a_line_has_each_paragraph_once(tmp_path: Path) -> None:
    path = write(tmp_path / "squad.jsonl", "\n".join(map(json.dumps, SQUAD_LINES)))
    dataset = load_dataset(path)
    assert gold(dataset) == [[["eighty degrees"]], [["a matter of taste"]]]
    assert [one.text for one in dataset.documents] == [TEXT]


@pytest.mark.parametrize("content", [SQUAD, SQUAD_LINES])
def test_questions_without_an_answer_are_counted(tmp_path: Path, content: object) -> None:
    dataset = load_dataset(write(tmp_path / "squad.json", content))
    assert dataset.left_out == {"marked as having no answer in its text": 1}


@pytest.mark.parametrize(
    "header",
    [
        "Frage;Antwort;Datei", "Pregunta;Respuesta;Archivo", "Question;Réponse;Fichier",
        "Domanda;Citazione;File", "Вопрос;Цитата;Файл", "質問;引用;ファイル", "问题;答案;文件",
    ],
)  # fmt: skip
def test_a_sheet_may_be_headed_in_a_language_of_ours(tmp_path: Path, header: str) -> None:
    path = write(tmp_path / "q.csv", f"{header}\nHow hot?;eighty degrees;tea.md\n")
    dataset = load_dataset(path, [TEA, Document(text=TEXT, id_="other")])
    assert gold(dataset) == [[["eighty degrees"]]]


def test_a_workbook_is_a_sheet(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["Question", "Quote", "Page", "Draft"], ["How hot?", "eighty degrees", 1, True]):
        book.active.append(row)
    book.save(tmp_path / "q.xlsx")
    dataset = load_dataset(tmp_path / "q.xlsx", [TEA])
    assert gold(dataset) == [[["eighty degrees"]]]
    assert dataset.questions[0].draft


def test_a_workbook_that_unpacks_to_more_than_memory_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "q.xlsx", "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/sharedStrings.xml", bytes(101_000_000))
    with pytest.raises(DatasetError, match="unpacks to over 100 MB"):
        load_dataset(tmp_path / "q.xlsx", [TEA])


PAGED = Document(
    text="Cover\n\nTea takes 131 degrees.\n\nMate takes 131 degrees, too.",
    id_="paged",
    metadata={"file_name": "tea.pdf", "page_starts": [0, 7, 31]},
)


@pytest.mark.parametrize("page", [2, 2.0, "2", "p. 2", [2], "2 of 300", "2/3"])
def test_a_page_alone_is_what_answers(tmp_path: Path, page: object) -> None:
    row = {"question": "How hot is tea?", "file": "tea.pdf", "page": page}
    dataset = load_dataset(write(tmp_path / "q.json", [row]), [PAGED, TEA])
    assert gold(dataset) == [[["Tea takes 131 degrees."]]]


def test_several_pages_are_one_answer(tmp_path: Path) -> None:
    for pages in ("2-3", "pp. 2\u20133", "2 and 3"):
        sheet = f"question,file,page\nHow hot?,tea.pdf,{pages}\n"
        dataset = load_dataset(write(tmp_path / "q.csv", sheet), [PAGED])
        assert gold(dataset) == [[[PAGED.text[7:]]]], pages


@pytest.mark.parametrize("page", [0, -1, "-2", float("nan"), "iv", 10**7, True])
def test_a_page_that_no_document_has_is_none(tmp_path: Path, page: object) -> None:
    rows = [{"question": "?", "gold": "131 degrees", "page": page}]
    assert len(gold(load_dataset(write(tmp_path / "q.json", rows), [PAGED]))[0]) == 2
    rows = [{"question": "?", "gold": "Tea"}, {"question": "?", "file": "tea.pdf", "page": page}]
    (unplaced,) = load_dataset(write(tmp_path / "q.json", rows), [PAGED]).unplaced
    assert unplaced.reason.startswith("no answer is quoted")


def test_what_ragas_writes_before_contexts_that_belong_together_is_no_part_of_them(
    tmp_path: Path,
) -> None:
    hops = ["<1-hop>\n\nTea takes 131 degrees.", "<2-hop>\n\nMate takes"]
    rows = [{"user_input": "?", "reference_contexts": hops, "reference": "Both."}]
    dataset = load_dataset(write(tmp_path / "q.json", rows), [PAGED])
    assert gold(dataset) == [[["Tea takes 131 degrees.", "Mate takes"]]]


def test_an_answer_that_is_a_number_is_looked_for(tmp_path: Path) -> None:
    rows = [{"vars": {"question": "How hot?"}, "assert": [{"type": "contains", "value": 131}]}]
    dataset = load_dataset(write(tmp_path / "q.yaml", json.dumps(rows)), [PAGED])
    assert gold(dataset) == [[["131"], ["131"]]]


def test_of_places_of_a_quote_the_one_on_its_page_is_meant(tmp_path: Path) -> None:
    rows = [{"question": "?", "gold": "131 degrees", "page": 3}]
    dataset = load_dataset(write(tmp_path / "q.json", rows), [PAGED])
    assert [one[0].span.start for one in dataset.questions[0].gold] == [42]


def test_a_quote_on_another_page_than_its_label_says_is_kept(tmp_path: Path) -> None:
    rows = [{"question": "?", "gold": "Tea takes 131 degrees", "page": 17}]
    assert gold(load_dataset(write(tmp_path / "q.json", rows), [PAGED])) == [
        [["Tea takes 131 degrees"]]
    ]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"page": 2}, "name the file"),
        ({"file": "tea.pdf", "page": 9}, "no text on page 9"),
        ({"file": "tea.md", "page": 1}, "no text on page 1"),
    ],
)
def test_a_page_that_says_nothing_is_listed(
    tmp_path: Path, row: dict[str, object], reason: str
) -> None:
    path = write(tmp_path / "q.json", [{"question": "How hot?", **row}])
    (unplaced,) = load_dataset(path, [PAGED, TEA]).unplaced
    assert reason in unplaced.reason


@pytest.mark.parametrize("mark", ["…", " ... ", " […] ", " [. . .] ", " (...) "])
def test_words_that_a_quote_leaves_out_lie_between_passages_that_are_wanted_together(
    tmp_path: Path, mark: str
) -> None:
    rows = [{"question": "?", "gold": f"Green tea takes eighty{mark}boiling water."}]
    assert gold(load_dataset(write(tmp_path / "q.json", rows), [TEA])) == [
        [["Green tea takes eighty", "boiling water."]]
    ]


def test_of_places_of_a_shortened_quote_those_close_together_are_meant(tmp_path: Path) -> None:
    text = "Tea is old. Much is said of it here. Tea is old. It takes boiling water. Tea is old."
    rows = [{"question": "?", "gold": "Tea is old … boiling water"}]
    path = write(tmp_path / "q.json", rows)
    (question,) = load_dataset(path, [Document(text=text, id_="t")]).questions
    assert question.gold[0][0].span.start == 37


def test_an_ellipsis_that_is_in_the_text_or_at_an_end_is_none_of_the_quoters(
    tmp_path: Path,
) -> None:
    text = "Tea takes ... time. Then it is ready."
    rows = [
        {"question": "?", "gold": "Tea takes ... time."},
        {"question": "!", "gold": "…it is ready…"},
    ]
    path = write(tmp_path / "q.json", rows)
    assert gold(load_dataset(path, [Document(text=text, id_="t")])) == [
        [["Tea takes ... time."]],
        [["it is ready"]],
    ]


def test_parts_of_a_quote_in_another_order_are_not_guessed(tmp_path: Path) -> None:
    rows = [{"question": "?", "gold": "boiling water … Green tea takes"}]
    (unplaced,) = load_dataset(write(tmp_path / "q.json", rows), [TEA]).unplaced
    assert "around the ellipsis" in unplaced.reason


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
        ("q.json", '{"something": 1}', "no known format.*\nquestion,quote\n"),
        ("q.json", [{"question": "a"}], "no known format"),
        ("q.jsonl", '{"question": "a", "gold": "b"}\nnot json', "line 2"),
        ("q.csv", "a,b\n1,2\n", r"\(its columns: a, b\). Questions are read from a sheet"),
        ("q.yaml", "questions: 3", "no known format"),
        ("q.yaml", "a: [", "not valid YAML"),
        ("q.xlsx", "x", "save the sheet as CSV"),
        ("q.odt", "x", "is of no kind that has questions"),
        ("q.json", {"data": [{"paragraphs": [{"qas": []}]}]}, r"lacks something.*\('context'\)"),
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
    plain = plain_of(dataset)
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


def test_two_questions_of_one_id_are_not_made_one(tmp_path: Path) -> None:
    file = write(
        tmp_path / "q.csv", "id,question,answer\n1,How hot?,Green tea\n1,How long?,taste\n"
    )
    with pytest.raises(DatasetError, match="two questions have the id '1'"):
        load_dataset(file, [Document(text=TEXT, id_="d")])


def test_a_cell_of_promptfoo_that_begins_with_no_kind_of_assertion_is_a_text(
    tmp_path: Path,
) -> None:
    text = "deadline: 14 days after landing"
    cells = f"question,__expected,__expected2\nWhen?,{text},not-contains: days\n"
    found = load_dataset(write(tmp_path / "q.csv", cells), [Document(text=f"A {text}.", id_="d")])
    assert gold(found) == [[[text]]]
