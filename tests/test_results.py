"""The published tables and the README's picture are what the kept recalls say."""

from __future__ import annotations

import runpy
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / "docs" / "make_results.py"))
PAGE = SCRIPT["PAGE"].read_text(encoding="utf-8")
SETS = ["headed", "evidence_inference", "qmsum", "xquad", "chroma"]


def test_the_tables_of_the_results_are_made_of_the_recalls_that_are_kept() -> None:
    assert SCRIPT["with_tables"](PAGE) == PAGE, "run docs/make_results.py"


def test_the_sentences_under_the_picture_are_made_of_them_too() -> None:
    page = SCRIPT["README"].read_text(encoding="utf-8")
    assert SCRIPT["with_lead"](page) == page, "run docs/make_results.py"
    assert SCRIPT["lead"]() in page


def later_no_table() -> None:
    missing = [name for name in SCRIPT["TABLES"] if f"<!-- table: {name} -->" not in PAGE]
    assert missing == []


def test_the_picture_is_the_one_that_the_recalls_give() -> None:
    kept = SCRIPT["PICTURE"].read_text(encoding="utf-8")
    assert SCRIPT["picture"]() == kept, "run docs/make_results.py"
    curves = ET.fromstring(kept).findall("{*}g[@data-set]")  # noqa: S314 -- our own file
    assert [one.get("data-set") for one in curves] == SETS
    assert "no size" in kept
