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
SETS = ["headed", "evidence_inference", "qmsum", "xquad", "chroma"]


def test_the_tables_of_the_results_are_made_of_the_recalls_that_are_kept() -> None:
    assert SCRIPT["with_tables"](PAGE) == PAGE, "run scripts/docs/make_results.py"


def test_the_sentences_under_the_picture_are_made_of_them_too() -> None:
    page = SCRIPT["README"].read_text(encoding="utf-8")
    assert SCRIPT["with_lead"](page) == page, "run scripts/docs/make_results.py"
    assert SCRIPT["lead"]() in page


def test_no_table_is_made_that_stands_nowhere() -> None:
    missing = [name for name in SCRIPT["TABLES"] if f"<!-- table: {name} -->" not in PAGE]
    assert missing == []


def test_the_picture_is_the_one_that_the_recalls_give() -> None:
    kept = SCRIPT["PICTURE"].read_text(encoding="utf-8")
    assert SCRIPT["picture"]() == kept, "run scripts/docs/make_results.py"
    curves = ET.fromstring(kept).findall("{*}g[@data-set]")  # noqa: S314 -- our own file
    assert [one.get("data-set") for one in curves] == SETS
    assert "no size" in kept


def test_the_bars_of_the_readme_are_those_that_the_recalls_give() -> None:
    kept = SCRIPT["BARS"].read_text(encoding="utf-8")
    assert SCRIPT["bars"](SCRIPT["Summary"].load()) == kept, "run scripts/docs/make_results.py"
    assert len(ET.fromstring(kept).findall("{*}rect[@class='ours']")) == 1 + len(SETS) + 1  # noqa: S314 -- our own file


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
