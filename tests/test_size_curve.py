"""The picture of docs/concepts/evaluation.md and the README's decision, on the example manual."""

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree as ET

from rag_nodes.evaluation.page.plots import size_curve
from rag_nodes.evaluation.plan import BUDGETS, SIZES, EvaluationPlan
from rag_nodes.parsers import COMPARED, get_parser

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "docs" / "make_size_curve.py"))


def test_the_readme_shows_what_its_command_says_first() -> None:
    page = SCRIPT["README"].read_text(encoding="utf-8")
    assert SCRIPT["with_decision"](page, SCRIPT["decision"]()) == page, (
        "run scripts/docs/make_size_curve.py"
    )
    assert " retrieval" in page.replace("\n> ", " ")


def test_the_picture_has_a_curve_of_every_parser_and_its_point_at_each_size() -> None:
    text = SCRIPT["PICTURE"].read_text(encoding="utf-8")
    root = ET.fromstring(text)  # noqa: S314 -- our own file
    curves = root.findall("{*}g[@data-column]")
    curves = curves[: len(COMPARED)]  # after them LlamaIndex's own may stand
    assert [curve.get("data-column") for curve in curves] == list(COMPARED)
    for curve in curves:
        points = curve.findall("{*}circle[@class='dot']")
        assert len(points) == len(SIZES) + 2, "its own size and the equal one as well"
    assert f"recall@{BUDGETS[1]}" in str(root.get("aria-label"))


def test_the_picture_shows_what_is_measured_of_a_parser_at_its_own_size_and_two_others() -> None:
    plan = EvaluationPlan(sizes=(min(SIZES), max(SIZES)), target=None)
    drawn = size_curve(SCRIPT["measured"](plan, {"heading": get_parser("heading")}))
    assert 'data-column="heading, sentences"' in drawn
    points = re.findall(r"heading(?: at|, whole)[^<]* tokens a chunk", drawn)
    assert len(points) == 3
    picture = SCRIPT["PICTURE"].read_text(encoding="utf-8")
    assert all(f">{point}<" in picture for point in points), "run scripts/docs/make_size_curve.py"


def test_the_picture_is_one_file_that_is_light_or_dark_like_the_page_around_it() -> None:
    text = SCRIPT["PICTURE"].read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r"(?:href|src|url\(|@import)", text)
    classes = {name for names in re.findall(r'class="([^"]+)"', text) for name in names.split()}
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert {kind for kind in classes - {"name", "cx"} if f".{kind}" not in style} == set()
