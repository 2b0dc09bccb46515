"""The published tables and the README's picture are what the kept recalls say."""

import runpy
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree as ET

from llama_index.core.schema import Document

from rag_nodes.evaluation import Dataset, Passage, Question
from rag_nodes.text.spans import Span

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "docs" / "make_results.py"))
PAGE = SCRIPT["PAGE"].read_text(encoding="utf-8")
# The script has put the folder of the benchmarks on the path.
labelled_sets, kept = import_module("labelled_sets"), import_module("results.kept")
field = import_module("results.field")
SETS = ["headed", "evidence_inference", "qmsum", "xquad", "chroma"]


def test_the_tables_of_the_results_are_made_of_the_recalls_that_are_kept() -> None:
    assert SCRIPT["with_tables"](PAGE) == PAGE, "run scripts/docs/make_results.py"


def test_sentences_under_the_figures_of_the_readme_come_from_kept_recalls() -> None:
    page = SCRIPT["README"].read_text(encoding="utf-8")
    assert SCRIPT["with_lead"](page) == page, "run scripts/docs/make_results.py"
    assert SCRIPT["lead"]() in page


def test_sentences_under_the_figures_name_every_setting_that_finds_more() -> None:
    more = 0
    for search in (field.keyword(), field.hybrid()):
        ours, peers = search.values(search.ours), [search.values(peer) for peer in search.peers]
        more += sum(peer[name] > ours[name] for peer in peers for name in SETS)
    assert more > 0
    assert " ".join(field.lead().split()).count(" against ") == more


def test_no_table_is_made_that_stands_nowhere() -> None:
    missing = [name for name in SCRIPT["TABLES"] if f"<!-- table: {name} -->" not in PAGE]
    assert missing == []


def test_figures_come_from_kept_recalls() -> None:
    for path, figure in SCRIPT["figures"]().items():
        assert figure == path.read_text(encoding="utf-8"), (
            f"{path}: run scripts/docs/make_results.py"
        )
    curves = ET.fromstring(SCRIPT["picture"]()).findall("{*}g[@data-set]")  # noqa: S314 -- our own file
    assert [curve.get("data-set") for curve in curves] == SETS


def test_a_figure_has_a_dot_for_every_setting_on_every_set() -> None:
    keyword = field.keyword()
    dots = ET.fromstring(SCRIPT["dots"](keyword)).findall("{*}circle[@class='peer']")  # noqa: S314 -- our own file
    legend = 1
    assert len(dots) == legend + len(keyword.peers) * (len(SETS) + 1)


def test_gold_keeps_its_characters_where_the_marks_between_them_are_taken_out() -> None:
    text = "One. Two words! Three?"
    gold = Passage("d", Span(5, 15))
    asked = Question("q", "What?", ((gold,),))
    marked = Dataset("sentences", (Document(text=text, id_="d"),), (asked,))

    bare = labelled_sets.without_marks(marked)

    assert bare.texts == {"d": "One Two words Three"}
    assert bare.quote(bare.questions[0].gold[0][0]) == "Two words"


def test_parts_of_a_set_are_joined_in_the_order_of_its_questions() -> None:
    parts = [
        kept.System("ladder", 100.0, 3, {500: [0.3, 0.1]}),
        kept.System("ladder", 200.0, 1, {500: [0.2]}),
    ]
    joined = kept.System.joined(parts, [2, 0, 1])
    assert joined == kept.System("ladder", 125.0, 4, {500: [0.1, 0.2, 0.3]})


def test_a_part_of_a_set_has_every_row_for_its_questions_alone() -> None:
    full, part = kept.Kept.load("qmsum"), kept.Kept.load_part("qmsum")
    places = [full.questions.index(question) for question in part.questions]
    row, of_part = (result.systems["ladder"]["ladder"]["recall"]["1000"] for result in (full, part))
    assert 0 < len(places) < len(full.questions)
    assert of_part == [row[place] for place in places]


def test_questions_about_a_part_of_the_documents_are_asked_of_all_documents() -> None:
    documents = [
        Document(text="Yes.", id_=name, metadata={"source": f"documents/{name}"})
        for name in ("a.txt", "b.txt", "c.txt", *(f"{number}.txt" for number in range(9)))
    ]
    gold = [((Passage(document.id_, Span(0, 3)),),) for document in documents]
    asked = [Question(result[0][0].document, result[0][0].document, result) for result in gold]
    dataset = Dataset("qmsum", tuple(documents), tuple(asked))

    part = labelled_sets.part_of(dataset)

    assert len(part.questions) == labelled_sets.PARTS["qmsum"]
    assert part.documents == dataset.documents
