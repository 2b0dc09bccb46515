"""A recommendation as a page: all of it, one file, nothing of anybody's run."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.evaluation.labelled import corpus

from rag_nodes.evaluation import Recommendation, recommend
from rag_nodes.evaluation.page import recommendation_page
from rag_nodes.evaluation.page.recommended import context_plot, cost_plot
from rag_nodes.evaluation.page.svg import HEIGHT, WIDTH
from rag_nodes.evaluation.recommendation import PLAN
from rag_nodes.parsers import get_parser

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def found() -> Recommendation:
    plan = replace(PLAN, budgets=(30, 60), sizes=(30, 300), draws=200)
    given = {"recursive": get_parser("recursive"), HOSTILE: get_parser("token-overlap")}
    dataset = replace(corpus(), name=f"reports {HOSTILE}")
    return recommend(dataset, given, plan=plan, overlaps=())


def test_the_page_says_what_to_take_and_lists_every_candidate(found: Recommendation) -> None:
    page = recommendation_page(found)
    assert found.verdict[0] in page
    assert page.count("to be taken</td>") == 1
    for sentence in found.otherwise:
        assert sentence in page
    for one in found.trials:
        assert f"{one.name.replace('<', '&lt;').replace('>', '&gt;')}</td>" in page


def test_the_page_asks_nothing_of_any_server_and_runs_nothing(found: Recommendation) -> None:
    page = recommendation_page(found)
    assert HOSTILE not in page
    assert "default-src 'none'" in page
    assert not re.findall(r"<(?:script|link|img|iframe)|https?://", page)


def test_every_candidate_that_was_asked_all_is_a_point_in_the_picture(
    found: Recommendation,
) -> None:
    picture = cost_plot(found)
    asked = [one for one in found.trials if one.state in ("level", "behind")]
    places = re.findall(r'<circle class="dot [^"]*" cx="([\d.]+)" cy="([\d.]+)"', picture)
    assert len(places) == len(asked)
    assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in places)
    assert picture.count(' own"') == 1
    [line] = re.findall(r'class="curve front" points="([^"]*)"', picture)
    assert len(line.split()) == len(found.front)


def test_the_picture_of_context_has_a_line_per_candidate_and_none_for_one_budget(
    found: Recommendation,
) -> None:
    asked = [one for one in found.trials if one.state in ("level", "behind")]
    assert context_plot(found).count("<polyline") == len(asked)
    one_budget = replace(found, settings={**found.settings, "budgets": [60]})
    assert context_plot(one_budget) == ""


def test_candidates_of_one_cost_and_one_recall_are_drawn(found: Recommendation) -> None:
    [first, *_] = (one for one in found.trials if one.name == found.chosen)
    alone = replace(found, trials=(first,), leader=first.name)
    assert "nan" not in cost_plot(alone)
    assert cost_plot(alone).count("<circle") == 1
