"""The report as a page: one file, no requests, nothing out of a document that runs."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from llama_index.core import Document
from tests.evaluation.labelled import corpus

from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.leads import Interval
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.page import html_of, interval_plot, size_curve, told_apart
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.run import evaluate
from rag_nodes.parsers import get_parser
from rag_nodes.text.spans import Span

PLAN = EvaluationPlan(budgets=(30, 60), sizes=(20, 40), target=30, draws=200, ks=(1, 10))
HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(2)> {{ 7 * 7 }} \"'&"


@pytest.fixture(scope="module")
def report() -> EvaluationReport:
    columns = {
        "small": get_parser("recursive", unit="tokens", chunk_size=30, chunk_overlap=0),
        "large": get_parser("token-overlap", chunk_size=300, chunk_overlap=30),
    }
    return evaluate(corpus(), columns, plan=PLAN)


class Tags(HTMLParser):
    """All tags with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def tags_of(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Tags()
    parser.feed(page)
    return parser.found


def test_the_page_asks_nothing_of_any_server_and_runs_nothing(report: EvaluationReport) -> None:
    tags = tags_of(html_of(report))
    assert not {tag for tag, _ in tags} & {"script", "img", "link", "iframe", "object", "form"}
    links = [value for _, attributes in tags for name, value in attributes.items()
             if name in ("href", "src", "action")]  # fmt: skip
    assert links
    assert all(link and link.startswith("#") for link in links)


def test_the_verdict_comes_first_and_every_question_has_a_cell_for_every_row(
    report: EvaluationReport,
) -> None:
    page = html_of(report)
    assert page.index(report.decision.words) < page.index(report.verdict[0].split(" is ")[0])
    cells = [attributes for tag, attributes in tags_of(page) if tag == "a"]
    assert len(cells) == len(report.questions) * 4
    grades = {str(cell["class"]).split()[1] for cell in cells}
    assert {"found", "missed"} <= grades <= {"found", "partly", "missed"}


def test_a_missed_cell_leads_to_its_reason_and_to_the_place(report: EvaluationReport) -> None:
    tags = tags_of(html_of(report))
    places = {attributes["id"] for _, attributes in tags if "id" in attributes}
    missed = [attributes for tag, attributes in tags
              if tag == "a" and "missed" in str(attributes["class"])]  # fmt: skip
    assert missed
    assert all(str(cell["href"])[1:] in places for cell in missed)


def test_texts_of_documents_questions_and_names_are_shown_and_never_run() -> None:
    text = f"Before it. {HOSTILE} and after it.\n\n" + "Nothing else to see. " * 40
    document = Document(text=text, id_="d", metadata={"file_name": HOSTILE})
    gold = Passage("d", Span(11, 11 + len(HOSTILE)))
    asked = Question("q", f"What of {HOSTILE}?", ((gold,),), kind=HOSTILE)
    dataset = Dataset(HOSTILE, (document,), (asked,))
    columns = {HOSTILE: get_parser("fixed", unit="tokens", chunk_size=10, chunk_overlap=0)}
    plan = replace(PLAN, budgets=(8, 9), sizes=(8, 16), target=12)
    page = html_of(evaluate(dataset, columns, plan=plan))
    tags = {tag for tag, _ in tags_of(page)}
    assert not tags & {"script", "img"}
    assert "{{ 7 * 7 }}" in page
    assert page.count("&lt;script&gt;") > 3
    assert page.count("</style>") == 1


def test_the_curve_has_a_line_per_column_and_the_interval_plot_a_dot(
    report: EvaluationReport,
) -> None:
    assert str(size_curve(report)).count("<polyline") == 2
    assert str(interval_plot(report, "own")).count('class="dot') == 2
    assert str(interval_plot(report, "none of these")) == ""


def test_every_point_lies_within_the_picture(report: EvaluationReport) -> None:
    for picture in (size_curve(report), interval_plot(report, "matched")):
        width, height = map(float, re.findall(r'viewBox="0 0 (\S+) (\S+)"', picture)[0])
        dots = re.findall(r'cx="(\S+)" cy="(\S+)"', picture)
        assert dots
        assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in dots)


def test_without_sizes_there_is_no_curve_and_the_page_still_stands() -> None:
    columns = {"small": get_parser("recursive", unit="tokens", chunk_size=30, chunk_overlap=0)}
    found = evaluate(corpus(1), columns, plan=replace(PLAN, sizes=(), target=None))
    page = html_of(found)
    assert str(size_curve(found)) == ""
    assert "about one document were asked" in page


def test_a_column_that_failed_is_shown_with_its_error() -> None:
    def broken(text: str) -> list[str]:
        raise RuntimeError(f"cannot split {len(text)} characters")

    found = evaluate(corpus(1), {"broken": broken}, plan=replace(PLAN, sizes=()))
    assert "cannot split" in html_of(found)


def cells_of(page: str) -> list[list[str]]:
    """The words of every row of every table."""
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [[re.sub(r"<[^>]+>", "", cell).strip() for cell in
             re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)] for row in rows]  # fmt: skip


def test_of_many_pairs_those_without_a_difference_are_folded(report: EvaluationReport) -> None:
    (one,) = report.contrasts[:1]
    none = [replace(one, words=f"Nothing {n}.", these=Interval(0.0, -0.1, 0.1)) for n in range(3)]
    some = replace(one, words="One is better.", these=Interval(0.1, 0.05, 0.2))
    assert told_apart(none) == (none, [])
    assert told_apart([*none, some]) == ([some], none)
    page = html_of(replace(report, contrasts=(*none, some)))
    folded = re.findall(
        r"<summary>3 pairs without a difference</summary>(.*?)</details>", page, re.DOTALL
    )
    assert "Nothing 2." in folded[0]
    assert "One is better." not in folded[0]


def test_a_reason_stands_beside_what_can_be_done(report: EvaluationReport) -> None:
    rows = tuple(replace(row, reasons={"cut": 1}) for row in report.rows)
    page = html_of(replace(report, rows=rows))
    assert re.search(r"<td class=\"words\">cut<br><span[^>]*>a boundary runs", page)


def test_kinds_and_documents_have_their_own_numbers(report: EvaluationReport) -> None:
    rows = cells_of(html_of(report))
    names = ["small", "small at equal size", "large", "large at equal size"]
    assert ["kind", "questions", *names] in rows
    assert ["document", "questions", *names] in rows
    for by, group, questions in (("kind", "o", "4"), ("document", "2.md", "8")):
        asked = {one["id"] for one in report.questions
                 if group in (one["kind"], f"{one['document'][4:]}.md")}  # fmt: skip
        means = []
        for name in names:
            found = [one for one in report.row(name).outcomes if one.question in asked]
            means.append(sum(one.scores[report.measure] for one in found) / len(found))
        assert [group, questions, *(f"{100 * one:.1f}" for one in means)] in rows, by


def test_what_an_index_takes_is_on_the_page_and_seconds_where_they_are_known(
    report: EvaluationReport,
) -> None:
    one = report.row("small")
    cost = {name: one.cost[name] or 0 for name in ("tokens", "embedded", "bytes", "seconds")}
    took = f"{cost['seconds']:.1f}"
    wanted = ["small", f"{cost['tokens']:,}", f"{cost['embedded']:,}", "0.0000",
              f"{cost['bytes'] / 1000:,.0f}"]  # fmt: skip
    assert [*wanted, took] in cells_of(html_of(report))
    kept = EvaluationReport.from_dict(report.as_dict())
    assert [*wanted, ""] in cells_of(html_of(kept))


def test_one_kind_is_no_breakdown() -> None:
    dataset = corpus(2)
    plain = replace(dataset, questions=tuple(replace(one, kind="") for one in dataset.questions))
    columns = {"small": get_parser("recursive", unit="tokens", chunk_size=30, chunk_overlap=0)}
    page = html_of(evaluate(plain, columns, plan=replace(PLAN, sizes=(), target=None)))
    assert "By document" in page
    assert "By kind" not in page


def test_sizes_that_a_column_cannot_have_are_on_the_page_with_the_reason() -> None:
    columns = {"single": get_parser("sentence-window")}
    found = evaluate(corpus(1), columns, plan=PLAN)
    [one] = found.left_out
    assert (one.column, one.sizes) == ("single", ("20", "40", "a mean of 30"))
    assert "no size to change" in one.reason
    assert one.words in html_of(found)
    assert EvaluationReport.from_dict(found.as_dict()).left_out == found.left_out
