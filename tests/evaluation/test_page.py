"""The report as a page: one file, no requests, nothing out of a document that runs."""

import json
import re
import shlex
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from io import StringIO

import pytest
from llama_index.core import Document
from rich.console import Console
from tests.evaluation.labelled import BARE, PLAN, columns, corpus

from rag_nodes.cli.views.evaluation import evaluation_view
from rag_nodes.evaluation.columns import REFERENCE
from rag_nodes.evaluation.dataset import Dataset, NotLocated, Question
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.page import html_of, matrix, size_curve
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.run import evaluate
from rag_nodes.evaluation.sign_flips import Interval
from rag_nodes.evaluation.wording import found_alike
from rag_nodes.parsers import get_parser
from rag_nodes.text.spans import Span

HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(2)> {{ 7 * 7 }} \"'&"


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


def test_the_decision_comes_first_then_its_cost_then_how_to_use_it(
    report: EvaluationReport,
) -> None:
    decision = replace(report.decision, words="Take it.", cost="It takes little.")
    page = html_of(replace(report, decision=decision))
    expected = ["<h1>Take it.</h1>", "It takes little.", report.verdict[0].split(" is ")[0], "<svg"]
    places = [page.index(words_) for words_ in expected]
    assert places == sorted(places)


def test_what_is_proposed_is_quoted_for_the_shell(report: EvaluationReport) -> None:
    preset = 'package:Splitter(separator="\'$</code>")'
    rows = [replace(row, preset=preset) for row in report.rows]
    decision = replace(report.decision, preset=preset)
    page = html_of(replace(report, decision=decision, rows=rows))
    shown = [unescape(typed) for typed in re.findall("-p (.+?)</code>", page)]
    assert shown == [shlex.quote(preset)] * (1 + len(rows))


def test_every_surface_begins_with_the_same_grade_in_a_sentence(report: EvaluationReport) -> None:
    certainty = report.decision.certainty
    assert certainty.startswith("Sure, for these documents: only 1 of 2 settings may be best.")
    terminal = Console(width=200, record=True, file=StringIO())
    terminal.print(*evaluation_view(report))
    assert terminal.export_text().startswith(certainty)
    assert json.loads(report.to_json())["decision"]["certainty"] == certainty
    assert html_of(report).index(certainty) < html_of(report).index("<h1>")


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("recall@{main}", "the share of the answer within {main} tokens of context;"),
        ("mrr", "measured is mrr; questions that differ and reasons of misses are told at {main} "),
        ("recall@{least}", "within {least} tokens of context; questions that differ and reasons "),
    ],
)
def test_the_page_says_at_how_many_tokens_was_measured_and_at_how_many_misses_are_reported(
    report: EvaluationReport, measure: str, words: str
) -> None:
    budgets = {"main": report.settings.budget, "least": min(report.settings.budgets)}
    assert budgets["least"] < budgets["main"] < 1000
    settings = replace(report.settings, measure=measure.format(**budgets))
    page = " ".join(html_of(replace(report, settings=settings)).split())
    assert words.format(**budgets) in page


def test_the_matrix_begins_with_what_is_taken_and_with_what_parts_the_rows(
    report: EvaluationReport,
) -> None:
    rows, lines = matrix(replace(report, decision=replace(report.decision, take="large")))
    assert [row.name for row in rows] == ["large", "small"]
    assert sorted(line.number for line in lines) == [*range(1, len(report.questions) + 1)]
    gaps = [abs(line.cells[0].points - line.cells[1].points) for line in lines]
    assert gaps == sorted(gaps, reverse=True)


def test_the_page_has_the_questions_that_differ_and_each_cell_leads_to_its_passage(
    report: EvaluationReport,
) -> None:
    page = html_of(report)
    tags = tags_of(page)
    differing = [line for line in matrix(report).lines if line.differs]
    cells = [attributes for tag, attributes in tags if tag == "a" and "class" in attributes]
    assert len(differing) >= 2
    shown = [str(cell["class"]).removeprefix("cell ") for cell in cells]
    assert shown == [cell.grade for words_ in differing for cell in words_.cells]
    places = {attributes["id"] for _, attributes in tags if "id" in attributes}
    assert {str(cell["href"])[1:] for cell in cells} <= places
    alike = sum(
        not line.differs and line.cells[0].grade != "found" for line in matrix(report).lines
    )
    assert found_alike(len(matrix(report).lines) - len(differing) - alike, alike) in page
    assert "finds 0" not in page


def test_a_partly_found_answer_shows_the_part_that_was_read() -> None:
    columns = {
        "cut": get_parser("fixed", unit="tokens", chunk_size=12, chunk_overlap=0),
        "whole": get_parser("recursive", unit="tokens", chunk_size=60, chunk_overlap=0),
    }
    report_of_part = evaluate(
        corpus(2), columns, plan=replace(PLAN, budgets=(12, 24), sizes=(), target=None)
    )
    rows, lines = matrix(report_of_part)
    at = [row.name for row in rows].index("cut")
    parts = [line.cells[at] for line in lines if any(piece.read for piece in line.cells[at].pieces)]
    assert parts
    for cell in parts:
        gold = sum(len(piece.text) for piece in cell.pieces if piece.gold)
        read = sum(len(piece.text) for piece in cell.pieces if piece.read)
        assert 0 < read < gold
        assert cell.is_cut
    assert re.search(
        r"<mark>[^<]+</mark>.{0,60}<mark class=\"lost\">", html_of(report_of_part), re.DOTALL
    )


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


def test_paper_is_light_and_shows_what_the_reader_opened(report: EvaluationReport) -> None:
    style = html_of(report).split("</style>")[0]
    assert style.split("prefers-color-scheme: dark")[0].endswith("@media screen and (")
    assert "details:not([open])" in style.split("@media print")[1]


def test_the_plot_has_a_line_with_a_band_per_strategy_and_a_ring_around_what_is_taken(
    report: EvaluationReport,
) -> None:
    plot = size_curve(replace(report, decision=replace(report.decision, take="large")))
    assert plot.count("<polyline") == plot.count("<polygon") == 2
    assert plot.count('class="ring"') == 1
    assert plot.index('data-column="large"') < plot.index('class="ring"')
    assert ">100</text>" in plot


def test_strategies_of_one_colour_differ_by_their_marks(report: EvaluationReport) -> None:
    plot = size_curve(report, colour=lambda _: "c0", baseline="small")
    names = re.findall(r'class="name c0"[^>]*>(.) ', plot)
    assert len(names) == len({*names}) > 1
    assert '<path class="dot"' in plot
    assert plot.index('class="square"') > plot.rindex("</g>"), "above all lines"


def test_the_baseline_has_a_square_and_a_line_at_its_recall(report: EvaluationReport) -> None:
    for baseline in ("large", "large at 40"):  # a column, and one of its rows
        plot = size_curve(report, baseline=baseline)
        assert plot.index('data-column="large"') < plot.index('class="square"')
        [height] = re.findall(r'class="base" x1="\S+" y1="(\S+)"', plot)
        assert f'cy="{height}"' in plot
        assert plot.count(">your baseline<") == 1
    assert "your baseline" not in size_curve(report, baseline="unmeasured") + size_curve(report)


def test_probes_have_a_curve_that_says_what_it_was_measured_with_and_drafts_have_none(
    report: EvaluationReport,
) -> None:
    probed = size_curve(replace(report, dataset=replace(report.dataset, probed=700)))
    assert "by keywords of passages of 700 characters" in probed
    drafts = replace(report.dataset, drafts=report.dataset.questions)
    assert size_curve(replace(report, dataset=drafts)) == ""


def test_sentences_are_a_level_line_in_the_colour_of_their_parser(
    report: EvaluationReport,
) -> None:
    own = report.row("small")
    read = replace(own, granularity="sentences", whole=own.interval)
    plot = size_curve(replace(report, rows=(read, *report.rows[1:])))
    [heights] = re.findall(r'curve flat" points="\S+,(\S+) \S+,(\S+)"', plot)
    assert heights[0] == heights[1]
    assert '<g class="c0" data-column="small">' in plot
    assert '<g class="c0" data-column="small, sentences">' in plot


def test_sizes_that_were_read_by_sentences_are_lines_of_sentences(
    report: EvaluationReport,
) -> None:
    read = {"granularity": "sentences", "whole": Interval(0.1, 0.0, 0.2)}
    rows = [replace(row, **read, role="own") for row in report.rows]
    by_sentences = replace(report, rows=tuple(rows))
    plot = size_curve(by_sentences, baseline="small")
    shown = dict(re.findall(r"<title>([^<:]+): (\S+) \(", plot))
    assert shown == {row.name: f"{100 * row.mean:.1f}" for row in rows}
    assert "flat" not in plot
    page = html_of(by_sentences)
    assert "All lines read selected sentences." in page
    assert "in which sizes are compared" not in page
    assert "sizes are compared" in html_of(replace(report, rows=(
        replace(report.rows[0], **read), *report.rows[1:]),
        settings=replace(report.settings, granularity="sentences")))  # fmt: skip


def test_a_long_name_beside_the_plot_keeps_its_end(report: EvaluationReport) -> None:
    renamed = replace(report.rows[0], column="LlamaIndex SentenceSplitter at 800 tokens")
    plot = size_curve(replace(report, rows=(renamed, *report.rows[1:])))
    assert "● LlamaIndex S…r at 800 tokens<" in plot
    assert "LlamaIndex SentenceSplitter<" in size_curve(
        replace(report, rows=(replace(renamed, column=REFERENCE), *report.rows[1:]))
    )


def test_every_point_lies_within_the_picture(report: EvaluationReport) -> None:
    for picture in (size_curve(report), size_curve(report, narrow=True)):
        width, height = map(float, re.findall(r'viewBox="0 0 (\S+) (\S+)"', picture)[0])
        dots = re.findall(r'cx="(\S+)" cy="(\S+)"', picture)
        assert dots
        assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in dots)


def test_without_sizes_there_is_no_curve_and_the_page_still_stands() -> None:
    def fail_to_split(text: str) -> list[str]:
        raise RuntimeError(f"cannot split {len(text)} characters")

    measured = evaluate(
        corpus(1), {"heading": get_parser("heading"), "broken": fail_to_split}, plan=BARE
    )
    page = html_of(measured)
    assert str(size_curve(measured)) == ""
    assert "fail_to_split failed: RuntimeError; fix the splitter" in page
    assert "questions about one document." in page


def cells_of(page: str) -> list[list[str]]:
    """The words of every row of every table."""
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [[re.sub(r"<[^>]+>", "", cell).strip() for cell in
             re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)] for row in rows]  # fmt: skip


def test_every_pair_is_compared_in_numbers_and_called_significant_or_not(
    report: EvaluationReport,
) -> None:
    (contrast,) = report.contrasts[:1]
    none = replace(contrast, these=Interval(0.0, -0.1, 0.1), like_these=None)
    gap = replace(contrast, these=Interval(0.1, 0.05, 0.2), like_these=Interval(0.1, -0.1, 0.3))
    cells = cells_of(html_of(replace(report, contrasts=(none, gap))))
    pair = f"{contrast.left} over {contrast.right}"
    assert [pair, "0.0 (-10.0 to 10.0)", "cannot be told", "no"] in cells
    assert [pair, "10.0 (5.0 to 20.0)", "10.0 (-10.0 to 30.0)", "yes"] in cells


def test_a_question_that_was_left_out_is_quoted_and_its_reason_is_printed_once() -> None:
    lost = NotLocated("row 7", "Who mends the clock?", "the clockmaker", "its quote is nowhere")
    page = html_of(evaluate(replace(corpus(1), not_located=(lost,)), columns(), plan=BARE))
    assert page.count("its quote is nowhere") == 1
    assert "row 7: Who mends the clock? <q>the clockmaker</q>" in page


def test_a_reason_stands_beside_what_can_be_done(report: EvaluationReport) -> None:
    rows = tuple(replace(row, reasons={"split": 1}) for row in report.rows)
    page = html_of(replace(report, rows=rows))
    assert re.search(r"<td class=\"words\">split<br><span[^>]*>a boundary runs", page)


def test_kinds_have_their_own_numbers(report: EvaluationReport) -> None:
    rows = cells_of(html_of(report))
    assert ["kind", "questions", "small", "large"] in rows
    asked = {question.id for question in report.questions if question.kind == "o"}
    means = []
    for name in ("small", "large"):
        outcomes = [outcome for outcome in report.row(name).outcomes if outcome.question in asked]
        means.append(sum(words_.scores[report.measure] for words_ in outcomes) / len(outcomes))
    assert ["o", "2", *(f"{100 * mean:.1f}" for mean in means)] in rows


def test_the_page_shows_the_cost_of_an_index(
    report: EvaluationReport,
) -> None:
    cost = report.row("small").cost
    wanted = [f"{cost.embedded:,}", "0.0000", f"{(cost.bytes or 0) / 1000:,.0f}"]

    def small(shown: EvaluationReport) -> list[str]:
        return next(
            cell for cell in cells_of(html_of(shown)) if cell and cell[0].startswith("small")
        )[-4:]

    assert small(report) == [*wanted, f"{cost.seconds:.1f}"]
    assert small(EvaluationReport.from_dict(report.as_dict())) == [*wanted, ""]


def test_sizes_that_a_column_cannot_have_are_on_the_page_with_the_reason() -> None:
    columns = {"single": get_parser("sentence-window")}
    measured = evaluate(corpus(1), columns, plan=PLAN)
    page = html_of(measured)
    assert [size for omission in measured.left_out for size in omission.sizes] == [
        "20",
        "40",
        "a mean of 30",
    ]
    for omission in measured.left_out:
        assert "no size to change" in omission.reason
        assert omission.words in page
    assert EvaluationReport.from_dict(measured.as_dict()).left_out == measured.left_out


def _luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(words_ * 2 for words_ in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_can_be_read_on_what_is_behind_it(report: EvaluationReport, dark: bool) -> None:
    both = [dict(re.findall(r"--([\w-]+): (#\w+)", match_))
            for match_ in re.findall(r":root \{(.*?)\}", html_of(report), re.DOTALL)]  # fmt: skip
    colours = both[0] | (both[1] if dark else {})
    pairs = [(text, page) for text in ("ink", "soft", "link", "bad", "cut")
             for page in ("page", "card")]  # fmt: skip
    pairs += [(f"c{number}", "page") for number in range(8)]
    pairs += [(text, f"{text}-page") for text in ("good", "some", "bad")] + [("ink", "mark")]
    for text, page in pairs:
        lower, higher = sorted((_luminance(colours[text]), _luminance(colours[page])))
        assert (higher + 0.05) / (lower + 0.05) >= 4.5, (text, page)
