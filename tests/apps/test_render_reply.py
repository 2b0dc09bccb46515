"""What people read in a reply and in the status panel."""

from dataclasses import replace
from html import unescape

import pytest
from replies import make_column, make_report

from rag_nodes.apps.header import status
from rag_nodes.apps.markup import in_a_line, left
from rag_nodes.apps.tabs.compare.events import history
from rag_nodes.apps.visitors.turns import Asking, Growing, SimilarityScale, Turn, scale_for
from rag_nodes.core.settings import Settings
from rag_nodes.embedding import FileColumn, FileOutcome, ParserOutcome, Progress
from rag_nodes.evaluation.compare import ComparisonReport
from rag_nodes.pipeline import IngestReport

SCALE = SimilarityScale(0.85, 0.75, relative=False, model="text-embedding-ada-002")


def _page(report: ComparisonReport, scale: SimilarityScale = SCALE) -> str:
    return history([Turn(1, report.question, report, None, scale)], ready=True)


def test_a_citation_names_page_file_and_headings_without_folder_and_opens_its_marked_chunk() -> (
    None
):
    html = _page(make_report())
    assert 'data-to="rn-1-1-1"' in html
    assert 'id="rn-1-1-1"' in html
    assert "p. 3" in html
    assert "diary.pdf" in html
    assert html.index("May") < html.index("Sunday")
    assert "[Source 1]" not in html
    assert "/srv/uploads" not in html
    assert "The roof leaks. <mark>It rained.</mark> Nobody came." in html


def test_chunks_are_unfolded_where_nothing_was_answered() -> None:
    unfolded = 'class="rn-chunks" id="rn-1-1" open'
    assert unfolded in _page(make_report(make_column(text="", kind="retrieval")))
    assert unfolded not in _page(make_report())


def test_a_retrieved_chunk_shows_its_file_page_similarity_and_distance() -> None:
    html = _page(make_report(make_column(similarity=0.412, file_name="<roof>.pdf")))
    chunk = html[html.index("rn-hits") :]
    for shown in ("&lt;roof&gt;.pdf</bdi>", "p. 3", "0.41", "distance 0.59"):
        assert shown in chunk
    assert "distance" not in _page(make_report(make_column(similarity=None)))


def test_a_match_is_named_in_words_beside_its_colour() -> None:
    columns = [make_column(similarity=value) for value in (0.9, 0.8, 0.2, -0.001, None)]
    html = _page(make_report(*columns))
    for said in ("strong 0.90", "fair 0.80", "weak 0.20", "weak 0.00"):
        assert said in html
    assert "score 1.00" in html, "by words alone"


def test_a_failed_column_shows_its_error_and_leaves_the_others_alone() -> None:
    html = _page(make_report(make_column(error="the server is down"), make_column(name="heading")))
    assert "the server is down" in html
    assert "It rained." in html
    assert html.count("<article") == 2


def test_a_chunk_that_did_not_fit_the_budget_says_so() -> None:
    html = _page(make_report(make_column(packed=False)))
    assert "no room" in html
    assert "1 left out" in html


def test_a_column_that_read_more_for_steps_says_how_much() -> None:
    one = make_column()
    assert one.answer
    said = "budget 3000 instead of 1500: asks for steps"
    wide = replace(one, answer=replace(one.answer, widening=said))
    assert said in _page(make_report(wide))
    assert "instead of" not in _page(make_report(one))


def test_a_source_the_model_made_up_is_pointed_out_and_other_brackets_stay() -> None:
    text = "Use row[1] and [sic]. [Source 7]"
    html = _page(make_report(make_column(text=text, kind="generated", unknown=(7,))))
    assert "cites a source that was not given: 7" in html
    assert "row[1] and [sic]" in html


def test_an_answer_that_reached_the_limit_of_tokens_says_so() -> None:
    column = make_column(text="It leaks", kind="generated")
    assert column.answer is not None
    cut_off = replace(column, answer=replace(column.answer, truncated=True))
    said = "cut off: the LLM reached its limit of output tokens"
    assert said in _page(make_report(cut_off))
    assert said not in _page(make_report(column))


def test_an_answer_that_is_being_written_shows_what_has_arrived_but_no_half_citation() -> None:
    half = "It rained " + "\n" * 100_000 + "\n [Sou"
    growing = (Growing("fixed", 3, half), Growing("heading", 1, "It did.", ended=True))
    asking = Asking(1, "Why?", (*growing, Growing("semantic")))
    html = history((), ready=True, asking=asking)
    assert "3 chunks found, writing" in html
    assert "It rained" in html
    assert "[Sou" not in html
    assert "Semantic" in html
    assert html.count('aria-busy="true"') == 2


def test_the_empty_page_says_what_to_do_first_and_what_next() -> None:
    assert "Upload" in history((), ready=False)
    assert "What do you want to know?" in history((), ready=True)


def test_the_status_gives_pages_and_chunks_per_parser() -> None:
    files = (FileOutcome("folder/report.pdf", "read", 42, 9000, None, 0.5),)
    columns = (ParserOutcome("heading", "c", chunks=57, tokens=10340, max_tokens=983),)
    html = status.done(IngestReport(files, columns, 2.0, "embedding: lexical (offline)"))
    for expected in ("42 pages", "report.pdf", "57", "181 / 983", "embedding: lexical (offline)"):
        assert expected in html
    assert "/tmp" not in html  # noqa: S108 - shown only


def test_of_many_documents_those_that_went_well_are_folded_and_the_others_stand_open() -> None:
    well = [FileOutcome(f"{n}.md", "read", None, 9, None, 0.1) for n in range(30)]
    bad = FileOutcome("bad.pdf", "failed", None, 0, "it is encrypted", 0.1)
    html = status.done(IngestReport((*well, bad), (), 2.0, "lexical"))
    opened, _, folded = html.partition("<details>")
    assert "30 documents · 270 characters" in opened
    assert all(f">{n}.md<" in opened for n in range(status.MOST_FILES))
    assert "it is encrypted" in opened
    assert "and 25 more documents" in folded
    assert folded.count('class="rn-file"') == 25
    few = status.done(IngestReport((*well[: status.MOST_FILES], bad), (), 2.0, "lexical"))
    assert "<details>" not in few


def test_the_status_says_of_each_file_what_a_parser_could_not_store() -> None:
    columns = {
        "fixed": FileColumn("stored", 5, 5),
        "heading": FileColumn("incomplete", 4, 3, 6, "refused"),
    }
    file = FileOutcome("a.md", "incomplete", None, 99, None, 0.1, columns=columns)
    outcome = ParserOutcome("heading", "c", chunks=4, error="a.md: refused")
    html = status.done(IngestReport((file,), (outcome,), 2.0, "lexical"))
    assert "Heading hierarchy: 3 of 4 chunks stored, the 6 former ones are kept" in html
    assert "Fixed size:" not in html


def test_what_embedding_took_is_said_where_a_server_was_asked() -> None:
    columns = (ParserOutcome("heading", "c", embedding_tokens=1200, embedding_cost=0.024),)
    files = (FileOutcome("a.md", "read", None, 99, None, 0.1),)
    html = unescape(status.done(IngestReport(files, columns, 2.0, "embedding: a (OpenAI)")))
    assert "1,200 tokens embedded · $0.0240" in html
    assert "embedded" not in status.done(IngestReport(files, (), 2.0, "offline"))
    one = make_column()
    assert one.answer
    asked = replace(one.answer, embedding_tokens=9, embedding_cost=0.00001)
    html = unescape(_page(make_report(replace(one, answer=asked))))
    assert "question embedded: 9 tokens, under $0.0001" in html


def test_a_running_ingest_shows_how_far_each_parser_is() -> None:
    steps = {"": Progress("read", "a.pdf", 0, 1), "fixed": Progress("store", "fixed", 50, 200)}
    html = status.working(steps, ["fixed", "heading"])
    assert "a.pdf" not in html
    assert "storing 50" in html
    assert 'value="0.25"' in html
    assert "waiting" in html


def test_while_a_file_is_read_a_bar_says_how_much_of_all_files_is_and_how_long_it_takes() -> None:
    steps = {"": Progress("read", "b.pdf", 1, 4, share=0.6)}
    html = status.working(steps, ["fixed", "heading"], elapsed=8.0)
    assert "Reading <bdi>b.pdf</bdi>" in html
    assert 'value="0.40"' in html
    assert "about 12 s left" in html
    assert "waiting" not in html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("## A title\n\nand\ntext", "A title and text"),
        ("see [the *guide*,](https://a.example/x_(y)) now", "see the *guide*, now"),
        ("![a chart](x.png) \\# mkdir a\\_b C:\\temp", "a chart # mkdir a_b C:\\temp"),
        ("first<br>`second` [1] (see 2)", "first second [1] (see 2)"),
    ],
)
def test_a_passage_in_a_line_shows_its_words_and_no_marks(text: str, shown: str) -> None:
    assert in_a_line(text) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(59.2, ", about 60 s left"), (61, ", about 2 min left"), (120, ", about 2 min left")],
)
def test_what_is_left_is_whole_and_rounded_up(value: float, shown: str) -> None:
    assert left(value) == shown


def test_scores_of_each_model_have_their_own_thresholds(settings: Settings) -> None:
    lexical = scale_for("lexical-1024", settings)
    assert lexical.level(0.3, 0.3) == "strong"
    assert scale_for("text-embedding-ada-002", settings).level(0.8, 0.9) == "fair"


def test_an_unknown_model_is_measured_against_the_best_match(settings: Settings) -> None:
    scale = scale_for("house-model@10.0.0.1", settings)
    assert [scale.level(value, 0.5) for value in (0.5, 0.4, 0.1)] == ["strong", "fair", "weak"]
    assert "best match" in scale.explain()
    assert scale.level(-0.1, -0.1) == "weak"
