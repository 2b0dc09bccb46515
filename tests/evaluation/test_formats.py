"""Labelled questions in every format that people have, damaged and hostile files among them."""

import json
import zipfile
from itertools import product
from pathlib import Path

import openpyxl
import pytest
from llama_index.core import Document

from rag_nodes.core.errors import DatasetError
from rag_nodes.evaluation import importers
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.importers import load_dataset, plain_of, read_labels
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.spans import Span

GREEN, BLACK = "Green tea takes eighty degrees.", "Black tea takes boiling water."
TEXT = f"{GREEN} {BLACK} Mate is a matter of taste."
TEA = Document(text=TEXT, id_="tea", metadata={"file_name": "tea.md", "source": "tea.md"})
OTHER = Document(text="Nothing of it.", id_="other", metadata={"file_name": "other.md"})
PAGED = Document(
    text="Cover\n\nTea takes 131 degrees.\n\nMate takes 131 degrees, too.",
    id_="paged",
    metadata={"file_name": "tea.pdf", "page_starts": [0, 7, 31]},
)
DOTS = Document(text="Tea takes ... time. Then it is ready (...) … so.", id_="d")
ANSWERED = "marked as having no answer in its text"


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, "utf-8", newline="")
    return path


def lines(*rows: object) -> str:
    return "\n".join(map(json.dumps, rows))


def ask_for(gold: object, **row: object) -> list[dict[str, object]]:
    return [{"question": "How hot?", "gold": gold, **row}]


def gold(dataset: Dataset) -> list[list[list[str]]]:
    return [
        [[dataset.quote(passage) for passage in answer] for answer in question.gold]
        for question in dataset.questions
    ]


SQUAD = {"data": [{"title": "Tea", "paragraphs": [
    {"context": "An introduction.", "qas": []},
    {"context": TEXT, "qas": [
        {"id": "a", "question": "How hot?", "answers": [
            {"text": "eighty degrees", "answer_start": 16},
            {"text": "eighty degrees", "answer_start": 16},
            {"text": "eighty", "answer_start": 17}]},
        {"id": "b", "question": "Why?", "answers": [], "is_impossible": True}]}]}]}  # fmt: skip
SQUAD_LINES = lines(
    {"id": "a", "title": "Tea", "context": TEXT, "question": "How hot?",
     "answers": {"text": ["eighty degrees"], "answer_start": [16]}},
    {"id": "b", "title": "Tea", "context": TEXT, "question": "And mate?",
     "answers": {"text": ["a matter of taste"], "answer_start": [71]}},
    {"id": "c", "title": "Tea", "context": TEXT, "question": "Why?",
     "answers": {"text": [], "answer_start": []}},
)  # fmt: skip
OF_TOOLS: dict[str, tuple[str, object]] = {  # each as its publisher's documentation has it
    "RAGAS": (
        "testset.jsonl",
        lines({"user_input": "How hot?", "reference_contexts": [GREEN], "reference": "80 degrees.",
               "synthesizer_name": "single_hop_specific_query_synthesizer"}),
    ),
    "RAGAS, as pandas writes it": (
        "testset.csv",
        ("user_input,reference_contexts,reference,synthesizer_name\n"
        f"How hot?,\"['{GREEN}']\",80 degrees.,single_hop\n"),
    ),
    "RAGAS 0.1": (
        "old.csv",
        ("question,contexts,ground_truth,evolution_type,metadata,episode_done\n"
        f"How hot?,\"['{GREEN}']\",80 degrees.,simple,[{{}}],True\n"),
    ),
    "RAGAS, beside what a system answered": (
        "q.json",
        [{"question": "How hot?", "answer": BLACK, "contexts": ["?"], "ground_truth": GREEN}],
    ),
    "RAGAS, columns side by side": (
        "q.json", {"question": ["How hot?"], "contexts": [["?"]], "ground_truth": [GREEN]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", OF_TOOLS)
def test_questions_of_a_tool_are_read_as_it_writes_them(tmp_path: Path, tool: str) -> None:
    name, content = OF_TOOLS[tool]
    path = write(tmp_path / name, content)
    dataset = load_dataset(path, [OTHER, TEA])
    assert gold(dataset) == [[[GREEN]]]
    assert [question.text for question in dataset.questions] == ["How hot?"]
    assert tool.startswith(read_labels(path).form)


READ: dict[str, tuple[str, object, list[Document], list[list[list[str]]]]] = {
    "JSON lines are one question each": (
        "q.jsonl", lines(*ask_for("eighty degrees")) + "\n\n" + lines(*ask_for(["taste"])),
        [TEA], [[["eighty degrees"]], [["taste"]]],
    ),
    "SQuAD brings its texts, and annotators' answers are alternatives": (
        "squad.json", SQUAD, [], [[["eighty degrees"], ["eighty"]]],
    ),
    "SQuAD may have a question a line": (
        "squad.jsonl", SQUAD_LINES, [], [[["eighty degrees"]], [["a matter of taste"]]],
    ),
    "an answer that is a number is looked for": (
        "q.json", ask_for(131), [PAGED], [[["131"], ["131"]]],
    ),
    "what RAGAS writes before contexts of several hops is no part of them": (
        "q.json", [{"user_input": "?", "reference": "Both.", "reference_contexts": [
            "<1-hop>\n\nTea takes 131 degrees.", "<2-hop>\n\nMate takes"]}],
        [PAGED], [[["Tea takes 131 degrees.", "Mate takes"]]],
    ),
    "of places of a quote the one on its page is meant": (
        "q.json", ask_for("131 degrees, too", page=3), [PAGED], [[["131 degrees, too"]]],
    ),
    "a quote on another page than its label says is kept": (
        "q.json", ask_for("Tea takes 131 degrees", page=17), [PAGED], [[["Tea takes 131 degrees"]]],
    ),
    "an ellipsis in the text or at an end is none of the quoter's": (
        "q.json", ask_for("Tea takes ... time.") + ask_for("…it is ready…"),
        [DOTS], [[["Tea takes ... time."]], [["it is ready"]]],
    ),
    "rows of one question are passages that are wanted together, each once": (
        "q.csv", ("question,quote\nHow hot?,eighty degrees\nHow hot?,boiling water\n"
        "How hot?,boiling water\nMate?,taste\n"),
        [TEA], [[["eighty degrees", "boiling water"]], [["taste"]]],
    ),
    "alternatives that are no list are one answer": (
        "q.json", ask_for("eighty degrees", alternatives="boiling water"),
        [TEA], [[["eighty degrees"], ["boiling water"]]],
    ),
    "a quote in brackets is no list": (
        "q.csv", "question,quote\na?,[1]\n", [Document(text="As [1] says.", id_="d")], [[["[1]"]]],
    ),
    "nor are several, with commas between them": (
        "q.csv", "question,quote\na?,\"['a'], 'b', ['c']\"\n",
        [Document(text="As ['a'], 'b', ['c'] say.", id_="d")], [[["['a'], 'b', ['c']"]]],
    ),
    "an empty place in a cell with a list of quotes is none of them": (
        "q.csv", 'user_input,reference_contexts\nHow hot?,"[""eighty degrees"", null]"\n',
        [TEA], [[["eighty degrees"]]],
    ),
    "offsets that pandas made floats are offsets": (
        "q.json", [{"question": "?", "gold": [{"start": 16.0, "end": 30.0}], "document": "tea.md"}],
        [TEA], [[["eighty degrees"]]],
    ),
    "an empty column does not empty another of its name": (
        "q.csv", "question,quote,quote\na?,taste,\n", [TEA], [[["taste"]]],
    ),
    "blank lines above the header are passed over": (
        "q.csv", ";;\r\n\r\nquestion;quote\r\na?;taste\r\n", [TEA], [[["taste"]]],
    ),
    "a last cell in quotation marks may end the file": (
        "q.csv", 'question,quote\na?,"taste"', [TEA], [[["taste"]]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", READ)
def test_the_context_that_is_read(tmp_path: Path, what: str) -> None:
    name, content, documents, expected = READ[what]
    assert gold(load_dataset(write(tmp_path / name, content), documents)) == expected


def test_our_own_json_holds_passages_alternatives_kinds_and_scopes(tmp_path: Path) -> None:
    row = {
        "id": "q1", "question": "How hot?", "document": "tea.md", "kind": "fact",
        "gold": [{"start": 16, "end": 30, "text": "eighty degrees"}, {"text": "boiling water"}],
        "alternatives": [[{"text": "matter of taste"}]], "within": "tea.md", "draft": True,
    }  # fmt: skip
    dataset = load_dataset(write(tmp_path / "q.json", {"questions": [row]}), [TEA])
    (question,) = dataset.questions
    assert gold(dataset) == [[["eighty degrees", "boiling water"], ["matter of taste"]]]
    assert (question.kind, question.within, question.draft) == ("fact", ("tea",), True)
    again = load_dataset(write(tmp_path / "again" / "q.json", plain_of(dataset)), [TEA])
    assert again == dataset


def test_documents_of_one_name_are_distinguished_in_what_is_written_down(tmp_path: Path) -> None:
    twins = [
        Document(text=f"{GREEN} At pier {pier}.", id_=f"d{pier}",
                 metadata={"file_name": "readme.md", "source": f"/{pier}/readme.md"})
        for pier in (1, 2)
    ]  # fmt: skip
    rows = ask_for(f"{GREEN} At pier 2", within=["/2/readme.md"])
    dataset = load_dataset(write(tmp_path / "q.json", rows), twins)
    assert load_dataset(write(tmp_path / "q.json", plain_of(dataset)), twins) == dataset
    assert dataset.questions[0].document == "d2"


@pytest.mark.parametrize(
    ("cells", "drafts"),
    [(("WAHR", "FALSCH"), (True, False)), (("x", ""), (True, False)), (("1", "0"), (True, False)),
     (("Yes", "no"), (True, False))],
)  # fmt: skip
def test_drafts_are_marked_in_any_of_the_usual_ways(
    tmp_path: Path, cells: tuple[str, str], drafts: tuple[bool, bool]
) -> None:
    sheet = f"question,quote,Draft\nGreen?,eighty degrees,{cells[0]}\nBlack?,water,{cells[1]}\n"
    questions = load_dataset(write(tmp_path / "q.csv", sheet), [TEA]).questions
    assert tuple(question.draft for question in questions) == drafts
    parts = "id,question,quote,draft\nq,?,eighty degrees,\nq,?,boiling water,x\n"
    (question,) = load_dataset(write(tmp_path / "q.csv", parts), [TEA]).questions
    assert question.draft  # as one of its passages is


def test_a_folder_of_beir_has_passages_of_one_title_in_one_document(tmp_path: Path) -> None:
    passages = lines(
        {"_id": '"p', "title": "Tea", "text": GREEN},
        {"_id": "o", "title": "Tea", "text": "Mate is a matter of taste."},
        {"_id": "p3", "title": "", "text": "Alone."},
    )
    write(tmp_path / "corpus.jsonl", passages)
    write(tmp_path / "queries.jsonl", '{"_id": "q1", "text": "How hot?"}')
    judged = (("q1", '"p', "1"), ("q1", "o", "²"), ("q1", "p3", "9" * 5000))
    rows = (("query-id", "corpus-id", "score"), *judged)
    write(tmp_path / "qrels" / "test.tsv", "\n".join(map("\t".join, rows)))
    dataset = load_dataset(tmp_path)
    assert gold(dataset) == [[[GREEN]]]
    assert len(dataset.documents) == 2


def test_entries_that_are_no_question_to_measure_with_are_counted(tmp_path: Path) -> None:
    for name, content in (("squad.json", SQUAD), ("squad.jsonl", SQUAD_LINES)):
        assert load_dataset(write(tmp_path / name, content)).left_out == {ANSWERED: 1}
    rows = [*ask_for("taste"), "hello", 5, None, ["q", "a"]]
    left_out = load_dataset(write(tmp_path / "q.json", rows), [TEA]).left_out
    assert left_out == {"something else than a question with its columns": 4}


@pytest.mark.parametrize(
    "header",
    [
        "Question\t Quote \tFile", "Frage;Antwort;Datei", "Pregunta;Respuesta;Archivo",
        "Question,Réponse,Fichier", "Domanda;Citazione;File", "Вопрос;Цитата;Файл",
        "質問;引用;ファイル", "问题;答案;文件",
    ],
)  # fmt: skip
def test_a_sheet_may_be_headed_in_a_language_of_ours(tmp_path: Path, header: str) -> None:
    mark = next(letter for letter in "\t;," if letter in header)
    path = write(tmp_path / "q.csv", f"{header}\nHow hot?{mark}eighty degrees{mark}tea.md\n")
    dataset = load_dataset(path, [TEA, Document(text=TEXT, id_="other")])
    assert gold(dataset) == [[["eighty degrees"]]]


@pytest.mark.parametrize("header", ["kind", "Art", "Kategorie", "catégorie", "種類"])
def test_the_kind_of_a_question_is_read_under_names_of_several_languages(
    tmp_path: Path, header: str
) -> None:
    path = write(tmp_path / "q.csv", f"Frage,Zitat,{header}\nHow hot?,eighty degrees,fact\n")
    assert load_dataset(path, [TEA]).questions[0].kind == "fact"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_a_sheet_or_json_is_read_as_other_programs_save_it(encoding: str, tmp_path: Path) -> None:
    asked = "Wie viel Tee für Grüße, höchstens?"
    row = json.dumps([{"question": asked, "quote": BLACK}], ensure_ascii=False)
    for name, content in ("q.csv", f"question;quote\r\n{asked};{BLACK}\r\n"), ("q.json", row):
        (tmp_path / name).write_bytes(content.encode(encoding))
        assert [question.text for question in load_dataset(tmp_path / name, [TEA]).questions] == [
            asked
        ]


def test_a_workbook_with_a_title_above_its_columns_is_told_where_they_must_be(
    tmp_path: Path,
) -> None:
    book = openpyxl.Workbook()
    book.active.title = "Review"
    for row in (["Questions for review"], ["Question", "Quote"], ["How hot?", "eighty degrees"]):
        book.active.append(row)
    book.save(tmp_path / "q.xlsx")
    where = r"in sheet 'Review': questions for review\). The first row with text must name the col"
    with pytest.raises(DatasetError, match=where):
        load_dataset(tmp_path / "q.xlsx", [TEA])


def test_the_first_sheet_with_questions_is_read_wherever_it_stands(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["Our notes"], ["Ask the harbour office"]):
        book.active.append(row)
    for quote in ("eighty degrees", "boiling"):
        sheet = book.create_sheet()
        for row in (["Question", "Quote"], ["How hot?", quote]):
            sheet.append(row)
    book.save(tmp_path / "q.xlsx")
    assert gold(load_dataset(tmp_path / "q.xlsx", [TEA])) == [[["eighty degrees"]]]


@pytest.mark.parametrize("second", ["b?", "a?"])
def test_an_id_of_two_questions_is_refused_with_their_rows(tmp_path: Path, second: str) -> None:
    sheet = write(tmp_path / "q.csv", f"id,question,quote\n1,a?,x\n2,c?,y\n1,{second},z\n")
    words = "q.csv: rows 2 and 4 have the id '1', but are two questions; give each question its own"
    with pytest.raises(DatasetError, match=words):
        read_labels(sheet)


def test_a_workbook_is_a_sheet_unless_it_unpacks_to_more_than_memory(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["Question", "Quote", "Page", "Draft"], ["How hot?", "eighty degrees", 1, True]):
        book.active.append(row)
    book.save(tmp_path / "q.xlsx")
    dataset = load_dataset(tmp_path / "q.xlsx", [TEA])
    assert gold(dataset) == [[["eighty degrees"]]]
    assert dataset.questions[0].draft
    with zipfile.ZipFile(tmp_path / "q.xlsx", "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/sharedStrings.xml", bytes(101_000_000))
    with pytest.raises(DatasetError, match="unpacks to over 100 MB"):
        load_dataset(tmp_path / "q.xlsx", [TEA])


@pytest.mark.parametrize(
    ("page", "answer"),
    [(2, 0), (2.0, 0), ("p. 2", 0), ([2], 0), ("2 of 300", 0), ("2/3", 0), ("pp. 2–3", 1),  # noqa: RUF001
     ("2 and 3", 1)],
)  # fmt: skip
def test_a_page_alone_is_what_answers(tmp_path: Path, page: object, answer: int) -> None:
    row = {"question": "How hot is tea?", "file": "tea.pdf", "page": page}
    dataset = load_dataset(write(tmp_path / "q.json", [row]), [PAGED, TEA])
    assert gold(dataset) == [[[("Tea takes 131 degrees.", PAGED.text[7:])[answer]]]]


@pytest.mark.parametrize("page", [0, -1, "-2", float("nan"), "iv", 10**7, True])
def test_a_page_that_no_document_has_is_none(tmp_path: Path, page: object) -> None:
    rows = [
        *ask_for("131 degrees", page=page),
        {"question": "?", "file": "tea.pdf", "page": page},
    ]
    dataset = load_dataset(write(tmp_path / "q.json", rows), [PAGED])
    assert len(gold(dataset)[0]) == 2
    assert dataset.not_located[0].reason.startswith("no answer is quoted")


@pytest.mark.parametrize("mark", ["…", " ... ", " […] ", " [. . .] ", " (...) "])
def test_words_that_a_quote_leaves_out_lie_between_passages_that_are_wanted_together(
    tmp_path: Path, mark: str
) -> None:
    rows = ask_for(f"Green tea takes eighty{mark}boiling water.")
    assert gold(load_dataset(write(tmp_path / "q.json", rows), [TEA])) == [
        [["Green tea takes eighty", "boiling water."]]
    ]


LISTED: dict[str, tuple[object, list[Document], str]] = {
    "a page of any document": ([{"question": "?", "page": 2}], [PAGED, TEA], "name the file"),
    "a page without text": (
        [{"question": "?", "file": "tea.pdf", "page": 9}], [PAGED], "no text on page 9",
    ),
    "a page of a document that has none": (
        [{"question": "?", "file": "tea.md", "page": 1}], [TEA], "no text on page 1",
    ),
    "parts of a quote in another order": (
        ask_for("boiling water … Green tea takes"), [TEA], "around the ellipsis",
    ),
    "an ellipsis alone": (ask_for("… (...)"), [DOTS], "no answer is quoted"),
    "a number that is none": (ask_for(float("nan")), [TEA], "no answer is quoted"),
    "a list in a list": (ask_for([["x"]]), [TEA], "no answer is quoted"),
    "a passage without a text": (ask_for([{}, [[1]]]), [TEA], "no answer is quoted"),
    "a question that is null": ([{"question": None, "gold": "taste"}, *ask_for("taste")], [TEA],
                                "the question is missing"),
    "an answer where nothing is searched": (
        ask_for("taste", within=["other.md"]), [TEA, OTHER],
        "none of the documents that it searches",
    ),
    "a name that no file can have": (
        ask_for([{"document": "\0", "start": 0, "end": 1}]), [TEA],
        "no document is called",
    ),
    "columns of unequal length": (
        {"question": ["a?", "b?"], "answer": ["taste"]}, [TEA], "no answer is quoted",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", LISTED)
def test_quotes_without_a_location_are_listed_with_the_reason(tmp_path: Path, what: str) -> None:
    content, documents, reason = LISTED[what]
    (not_located,) = load_dataset(write(tmp_path / "q.json", content), documents).not_located
    assert reason in not_located.reason


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.json", "{", "not valid JSON"),
        ("q.json", '{"something": 1}', "no known format.*\nquestion,quote\n"),
        ("q.json", [{"question": "a"}], "no known format"),
        ("q.jsonl", '{"question": "a", "gold": "b"}\nnot json', "line 2"),
        ("q.csv", "a,b\n1,2\n", r"a, b\). The first row with text must name the columns. Q"),
        ("q.csv", "question,quote\n", r"q\.csv has no row"),
        ("q.csv", 'question,quote\na?,"tea\nb?,x\n', r"q\.csv has a quotation mark that is not"),
        ("q.csv", "id,question,quote,draft\nq7,?,x,perhaps\n", r"question 1 \(q7\) has 'perhaps'"),
        ("q.csv", "id,question,answer\n1,a?,tea\n1,b?,taste\n", "q.csv: rows 2 and 3 have the id"),
        ("q.xlsx", "x", "save the sheet as CSV"),
        ("q.odt", "x", "is of no kind that has questions"),
        ("q.yaml", "questions: []", "is of no kind that has questions"),
        ("q.json", "%PDF-1.7", r"q\.json cannot be read .*; name a file of questions"),
        ("q.json", "[" * 200_000, r"q\.json is nested too deeply"),
        ("q.json", ask_for("tea", alternatives=5), r"q\.json cannot be read as a question file"),
        ("q.json", {"data": [{"paragraphs": [{"qas": []}]}]}, r"cannot be read as a question file"),
        ("q.json", {"data": [{"paragraphs": [{"context": "a", "qas": 5}]}]}, "as a question file"),
        ("q.json", [{"context": "Cats", "question": "Who?",
                     "answers": {"text": ["Cats"], "answer_start": [0, 5]}}],
         r"q\.json cannot be read as a question file"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_says_why_and_what_to_do(
    tmp_path: Path, name: str, content: object, message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        load_dataset(write(tmp_path / name, content), [TEA])


@pytest.mark.parametrize("error", [AttributeError, TypeError, KeyError])
def test_an_error_of_the_program_is_not_said_to_be_one_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail_to_load(_path: Path) -> object:
        raise error("of the program")

    monkeypatch.setattr(importers, "read_file", fail_to_load)
    with pytest.raises(error, match="of the program"):
        load_dataset(write(tmp_path / "q.json", ask_for("tea")), [TEA])
    with pytest.raises(TypeError):
        load_dataset(None, [TEA])  # type: ignore[arg-type] # as a caller may by mistake


def test_missing_files_of_a_corpus_are_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="name the files they are about"):
        load_dataset(write(tmp_path / "q.json", ask_for("tea")))
    with pytest.raises(DatasetError, match=r"nowhere\.json"):
        load_dataset(tmp_path / "nowhere.json")
    with pytest.raises(DatasetError, match="not one of BEIR"):
        load_dataset(tmp_path)


def test_halves_of_surrogate_pairs_are_replaced_and_whole_ones_stay(tmp_path: Path) -> None:
    row = r'[{"id": "\udc00", "question": "quiet \ud800 \ud83d\ude00?", "gold": "taste"}]'
    dataset = load_dataset(write(tmp_path / "q.json", row), [TEA])
    shown = [(question.id, question.text) for question in dataset.questions]
    assert shown == [("\ufffd", "quiet \ufffd \U0001f600?")]
    json.dumps(plain_of(dataset), ensure_ascii=False).encode()


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0c", "\x1e"])
def test_only_a_line_feed_ends_a_line_of_json_or_of_a_sheet(tmp_path: Path, mark: str) -> None:
    row = json.dumps({"question": f"a{mark}b?", "gold": "taste"}, ensure_ascii=False)
    files = {"q.csv": f"question,quote\na{mark}b?,taste\n"} | (
        {"q.jsonl": row} if mark > " " else {}
    )
    for name, content in files.items():
        loaded = load_dataset(write(tmp_path / name, content), [TEA])
        assert [question.text for question in loaded.questions] == [f"a{mark}b?"]


@pytest.mark.parametrize(
    "quote", ["Quiet" + " " * 20_000 + "hours begin at ten", "the … the … the … the", "e"]
)
def test_a_quote_made_to_take_the_square_of_its_length_is_read(tmp_path: Path, quote: str) -> None:
    book = Document(text="the cat sat on the mat e and " * 10_000, id_="book")
    dataset = load_dataset(write(tmp_path / "q.json", ask_for(quote)), [book])
    assert len(dataset.questions) + len(dataset.not_located) == 1


def test_a_dataset_refuses_questions_that_do_not_search_where_their_answer_is() -> None:
    gold = ((Passage("tea", Span(9, 20)), Passage("other", Span(0, 5))),)
    both = Dataset("q", (TEA, OTHER), (Question("q", "When?", gold),))
    assert both.narrowed().questions[0].within == ("tea", "other")
    with pytest.raises(DatasetError, match="searches only documents without its answer"):
        Dataset("q", (TEA, OTHER), (Question("q", "When?", gold, within=("other",)),))


def test_a_row_with_more_cells_than_the_header_is_refused_by_its_number(tmp_path: Path) -> None:
    sheet = write(
        tmp_path / "sheet.csv",
        "question,quote,file\nHow hot?,eighty degrees,tea.md,\nWhat?,Green tea, hot,tea.md\n",
    )
    words = "row 3 has 4 cells, the header 3: put a quote with a comma in quotation marks"
    with pytest.raises(DatasetError, match=words):
        read_labels(sheet)


def test_rows_that_repeat_a_question_are_one_with_a_note_and_are_named_by_row(
    tmp_path: Path,
) -> None:
    rows = (
        "question,quote,id\nHow hot?,eighty,\nWhich?,Green,\nWhich?,Black,\nWhen?,a,w\nWhen?,b,w\n"
    )
    labels = read_labels(write(tmp_path / "sheet.csv", rows))
    assert [labelled.id for labelled in labels.questions] == ["row 2", "row 3", "w"]
    assert labels.notes == (
        "Rows 3 and 4 are one question that wants both passages; give them ids if not.",
    )


def test_columns_of_unknown_names_are_refused_with_the_names_that_are_known(tmp_path: Path) -> None:
    sheet = write(tmp_path / "sheet.csv", "what,where\nHow hot?,eighty\n")
    with pytest.raises(DatasetError, match="Names for quote: quote, gold, passage, ") as refused:
        read_labels(sheet)
    assert "Names for file: file, document, source" in str(refused.value)
    for question, quote, file in product(*importers.NAMES.values()):
        rows = [question, quote, file], ["How hot?", "eighty", "tea.md"]
        labels = read_labels(write(tmp_path / "named.csv", "\n".join(map(",".join, rows))))
        ((passage,),) = labels.questions[0].gold
        assert (passage.text, passage.document) == ("eighty", "tea.md")
