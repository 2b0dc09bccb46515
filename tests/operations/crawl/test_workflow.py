"""A crawl becomes checked and summarised chunks, with a report beside them (S1-27 to S1-29)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from crawls import GUIDE, LONG, PAGES, SHORT, SITE, page, write_crawl
from llama_index.core.node_parser import SentenceSplitter
from splitters import Headed
from tests.operations.crawl.conftest import chunks

from rag_nodes.models.executors import Inline, LostUnit
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.operations import crawl as documentation
from rag_nodes.operations.crawl import DocsStep, pages, workflow
from rag_nodes.parsers import PRESETS, get_parser, load_parser
from rag_nodes.text.tokens import count_tokens

SMALL: dict[str, Any] = {"parser": get_parser("heading", chunk_size=200, min_chunk_size=20)}
TINY = get_parser("heading", chunk_size=64, min_chunk_size=60)


# --- what is written ----------------------------------------------------------------------------


def test_a_crawl_becomes_chunks_that_hold_all_of_it(crawl: Path, output: Path) -> None:
    documentation.run(crawl, output, **SMALL)
    for name, text in (("guide", GUIDE), ("long", LONG), ("short", SHORT)):
        own = [row["content"] for row in chunks(output) if row["source_url"] == f"{SITE}/{name}"]
        assert re.sub(r"\s", "", "".join(own)) == re.sub(r"\s", "", text)


def test_the_statistics_are_those_of_a_separate_count(crawl: Path, output: Path) -> None:
    report = documentation.run(crawl, output, **SMALL)
    rows = chunks(output)
    tokens = [count_tokens(row["content"]) for row in rows]
    figures = report.statistics
    assert (figures.pages, figures.urls) == (3, 4)
    assert figures.page_tokens == sum(map(count_tokens, (GUIDE, LONG, SHORT)))
    assert figures.chunks == len(rows)
    assert figures.tokens == sum(tokens)
    assert (figures.tokens_min, figures.tokens_max) == (min(tokens), max(tokens))
    assert figures.tokens_mean == pytest.approx(sum(tokens) / len(tokens))
    assert figures.headings == figures.headings_kept == {"H1": 3, "H2": 2, "H3": 1}
    assert figures.chunks_with_code == 1
    assert figures.coverage == 100
    assert figures.summaries == {"extract": len(rows)}


def test_the_report_lies_beside_the_output(crawl: Path, output: Path) -> None:
    report = documentation.run(crawl, output)
    beside = output.with_name("chunks.json.report.json")
    assert json.loads(beside.read_text(encoding="utf-8")) == json.loads(
        json.dumps(report.as_dict())
    )
    assert sorted(path.name for path in output.parent.iterdir()) == [
        "chunks.json",
        "chunks.json.report.json",
        "crawl.json",
    ]


def test_two_workers_write_what_one_writes(tmp_path: Path, output: Path) -> None:
    """S1-30."""
    bad = [*PAGES[:2], page("bad", ""), *PAGES[2:]]
    crawl = write_crawl(tmp_path / "crawl.json", bad)
    reports, outputs = [], []
    for workers in (1, 2):
        report = documentation.run(crawl, output, workers=workers, **SMALL)
        reports.append({**report.as_dict(), "seconds": 0})
        outputs.append(output.read_bytes())
    assert outputs[0] == outputs[1]
    assert reports[0] == reports[1]


def test_pages_keep_their_order_and_one_by_which_processes_died_has_failed(
    crawl: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dying(Inline):
        def __init__(self, _workers: int) -> None:
            pass

        def run(self, work: Any, recipe: Any, units: Any) -> Any:
            first, *others = super().run(work, recipe, units)
            yield from reversed(others)
            yield first[0], LostUnit("SIGKILL")

    documentation.run(crawl, output, **SMALL)
    before = list(dict.fromkeys(row["source_url"] for row in chunks(output)))
    monkeypatch.setattr(pages, "Pool", Dying)
    report = documentation.run(crawl, output, workers=2, **SMALL)
    [reason] = report.failed_pages
    assert "the process that split it died (SIGKILL); use fewer --workers" in reason
    assert list(dict.fromkeys(row["source_url"] for row in chunks(output))) == before[1:]


def test_a_text_under_two_urls_is_split_once_and_says_so(crawl: Path, output: Path) -> None:
    documentation.run(crawl, output)
    [short] = [row for row in chunks(output) if row["source_url"] == f"{SITE}/short"]
    assert short["metadata"]["also_at"] == [f"{SITE}/copy"]
    assert f"{SITE}/copy" not in {row["source_url"] for row in chunks(output)}


def test_more_findings_than_memory_should_hold_are_only_counted(
    crawl: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow, "MAX_FINDINGS", 2)
    report = documentation.run(crawl, output, parser=TINY)
    assert len(report.findings) == 2
    assert sum(report.statistics.findings.values()) > 2


def test_summaries_can_be_left_out(crawl: Path, output: Path) -> None:
    report = documentation.run(crawl, output, summary=None)
    assert report.model is None
    assert report.statistics.summaries == {}
    assert {row["summary"] for row in chunks(output)} == {None}


def test_every_page_and_every_summary_is_a_step(crawl: Path, output: Path) -> None:
    """S1-35."""
    steps: list[DocsStep] = []
    report = documentation.run(crawl, output, **SMALL, progress=steps.append)
    done = {stage: [s.done for s in steps if s.stage == stage] for stage in ("pages", "summaries")}
    assert done["pages"] == [1, 2, 3]
    assert done["summaries"] == list(range(1, report.statistics.chunks + 1))
    assert steps[-1].total == report.statistics.chunks


def test_summaries_begin_before_the_last_page_is_read(
    crawl: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory holds a batch of chunks, however large the crawl is (S1-32)."""
    monkeypatch.setattr(workflow, "BATCH", 1)
    stages: list[str] = []
    documentation.run(crawl, output, progress=lambda step: stages.append(step.stage))
    assert stages.index("summaries") == 1
    assert stages[-1] == "summaries"


def test_each_page_is_logged_with_its_findings_after_it_was_checked(
    tmp_path: Path, output: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """S1-34, S1-36."""
    crawl = write_crawl(tmp_path / "crawl.json", [page("long", LONG), page("bad", "")])
    with caplog.at_level("INFO", logger="rag_nodes.operations.crawl"):
        report = documentation.run(crawl, output, parser=TINY)
    count = len(report.findings)
    assert count > 0
    first, failed = caplog.messages
    assert first == f"{SITE}/long: {report.statistics.chunks} chunks, {count} findings"
    assert failed.startswith("page failed: ")


# --- by any parser ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_every_parser_splits_a_crawl_into_chunks_that_are_checked_and_counted(
    name: str, crawl: Path, tmp_path: Path
) -> None:
    output = tmp_path / "chunks.jsonl"
    report = documentation.run(crawl, output, parser=get_parser(name))
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    figures = report.statistics
    assert figures.coverage == 100
    assert figures.headings == figures.headings_kept
    assert figures.findings.keys() <= {"split-code", "too-small"}
    assert load_parser(report.as_dict()["parser"]) == get_parser(name)
    for name_of_page in ("guide", "long", "short"):
        own = [row for row in rows if row["source_url"] == f"{SITE}/{name_of_page}"]
        places = [(row["start_char"], row["end_char"]) for row in own]
        assert places == sorted(places)
    [code] = re.finditer(r"`\n_10\n.*?`(?=\n)", GUIDE, re.DOTALL)
    with_code = [
        row
        for row in rows
        if row["source_url"] == f"{SITE}/guide"
        and row["start_char"] < code.end()
        and row["end_char"] > code.start()
    ]
    assert figures.chunks_with_code == len(with_code) >= 1


def test_a_splitter_of_another_package_splits_a_crawl_and_is_held_to_nothing_it_did_not_promise(
    tmp_path: Path, output: Path
) -> None:
    text = " ".join(f"Part {number} drives the part {number + 1} of it." for number in range(99))
    crawl = write_crawl(tmp_path / "crawl.json", [page("parts", text)])
    splitter = SentenceSplitter(chunk_size=64, chunk_overlap=16)
    report = documentation.run(crawl, output, parser=splitter)
    assert report.parser["class_name"] == "ForeignNodeParser"
    assert report.statistics.tokens > report.statistics.page_tokens  # chunks overlap
    assert (report.statistics.coverage, report.statistics.findings) == (100, {})


def test_a_chunk_whose_place_is_unknown_is_misplaced_and_nothing_else_is_said_of_it(
    crawl: Path, output: Path
) -> None:
    report = documentation.run(crawl, output, parser=Headed())
    not_located = [finding for finding in report.findings if finding.kind == "misplaced"]
    assert len(not_located) == report.statistics.chunks
    assert {question.detail for question in not_located} == {
        "its offsets in the page are not known"
    }
    assert report.statistics.coverage == 0


def test_tokens_are_those_of_the_parsers_own_tokenizer(crawl: Path, output: Path) -> None:
    parser = get_parser("heading", tokenizer="chars", chunk_size=900, min_chunk_size=100)
    report = documentation.run(crawl, output, parser=parser)
    assert "wrong-tokens" not in report.statistics.findings
    assert report.statistics.page_tokens == sum(map(len, (GUIDE, LONG, SHORT)))


@pytest.mark.parametrize(
    ("least", "options", "workers"),
    [
        (pages.WORTH_WORKERS, {}, 1),
        (pages.WORTH_WORKERS, {"workers": 3}, 3),
        (1, {}, 7),
        (1, {"parser": get_parser("semantic")}, 7),
        (1, {"parser": get_parser("semantic", embed_model=LexicalEmbedding())}, 1),
    ],
)
def test_large_crawls_use_all_cores_unless_told_otherwise_or_a_model_is_asked(
    least: int,
    options: dict[str, Any],
    workers: int,
    crawl: Path,
    output: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used: list[int] = []

    class Counting(Inline):
        def __init__(self, workers: int = 1) -> None:
            used.append(workers)

    monkeypatch.setattr(pages, "Inline", Counting)
    monkeypatch.setattr(pages, "Pool", Counting)
    monkeypatch.setattr(pages, "WORTH_WORKERS", least)
    monkeypatch.setattr(pages, "usable_cores", lambda: 7)
    documentation.run(crawl, output, **options)
    assert used == [workers]
