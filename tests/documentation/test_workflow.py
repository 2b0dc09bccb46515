import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from crawls import GUIDE, LONG, PAGES, SHORT, SITE, page, write_crawl
from llama_index.core.node_parser import SentenceSplitter
from splitters import Headed

from rag_nodes import documentation
from rag_nodes.documentation import DocsOptions, DocsStep, pages, statistics, workflow
from rag_nodes.executors import Inline, LostUnit
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.parsers import PRESETS, get_parser, load_parser
from rag_nodes.text.tokens import count_tokens

SMALL = {"parser": get_parser("heading", chunk_size=200, min_chunk_size=20)}
TINY = get_parser("heading", chunk_size=64, min_chunk_size=60)


def chunks(output: Path) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = json.loads(output.read_text(encoding="utf-8"))
    return written


# --- what is written ----------------------------------------------------------------------------


def test_a_crawl_becomes_chunks_that_hold_all_of_it(crawl: Path, output: Path) -> None:
    documentation.run(crawl, output, DocsOptions(**SMALL))
    for name, text in (("guide", GUIDE), ("long", LONG), ("short", SHORT)):
        own = [row["content"] for row in chunks(output) if row["source_url"] == f"{SITE}/{name}"]
        assert re.sub(r"\s", "", "".join(own)) == re.sub(r"\s", "", text)


def test_the_statistics_are_those_of_an_independent_count(crawl: Path, output: Path) -> None:
    report = documentation.run(crawl, output, DocsOptions(**SMALL))
    rows = chunks(output)
    tokens = [count_tokens(row["content"]) for row in rows]
    figures = report.statistics
    assert (figures.pages, figures.pages_repeated, figures.urls) == (3, 1, 4)
    assert figures.page_tokens == sum(map(count_tokens, (GUIDE, LONG, SHORT)))
    assert figures.chunks == len(rows)
    assert figures.tokens == sum(tokens)
    assert (figures.tokens_min, figures.tokens_max) == (min(tokens), max(tokens))
    assert figures.tokens_mean == pytest.approx(sum(tokens) / len(tokens))
    assert figures.headings == figures.headings_kept == [3, 2, 1, 0, 0, 0]
    assert figures.code_blocks == figures.chunks_with_code == 1
    assert figures.coverage == 100
    assert figures.summaries == {"extract": len(rows)}
    assert report.repeated[0].also_at == (f"{SITE}/copy",)


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
    bad = [*PAGES[:2], page("bad", ""), *PAGES[2:]]
    crawl = write_crawl(tmp_path / "crawl.json", bad)
    reports, outputs = [], []
    for workers in (1, 2):
        report = documentation.run(crawl, output, DocsOptions(workers=workers, **SMALL))
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

    documentation.run(crawl, output, DocsOptions(**SMALL))
    before = list(dict.fromkeys(row["source_url"] for row in chunks(output)))
    monkeypatch.setattr(pages, "Pool", Dying)
    report = documentation.run(crawl, output, DocsOptions(workers=2, **SMALL))
    [reason] = report.failed_pages
    assert "the process that cut it died (SIGKILL); use fewer --workers" in reason
    assert list(dict.fromkeys(row["source_url"] for row in chunks(output))) == before[1:]


def test_chunks_that_repeat_are_named_with_the_first(tmp_path: Path, output: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl.json", [page("a", SHORT), page("b", f"{SHORT}\n\n")])
    report = documentation.run(crawl, output)
    [finding] = report.findings
    first, second = chunks(output)
    assert (finding.kind, finding.chunk_id) == ("duplicate", second["chunk_id"])
    assert first["chunk_id"] in finding.detail
    assert finding.page == f"{SITE}/b"


def test_repeated_pages_are_cut_where_that_is_asked_for(crawl: Path, output: Path) -> None:
    report = documentation.run(crawl, output, DocsOptions(keep_duplicates=True))
    assert (report.statistics.pages, report.repeated) == (4, ())
    assert report.statistics.findings["duplicate"] == 1


def test_more_findings_than_memory_should_hold_are_only_counted(
    crawl: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "MAX_FINDINGS", 2)
    report = documentation.run(crawl, output, DocsOptions(parser=TINY))
    assert len(report.findings) == 2
    assert sum(report.statistics.findings.values()) > 2


def test_summaries_can_be_left_out(crawl: Path, output: Path) -> None:
    report = documentation.run(crawl, output, DocsOptions(summaries=False))
    assert report.model is None
    assert report.statistics.summaries == {}
    assert {row["summary"] for row in chunks(output)} == {None}


def test_every_page_and_every_summary_is_a_step(crawl: Path, output: Path) -> None:
    steps: list[DocsStep] = []
    report = documentation.run(crawl, output, DocsOptions(**SMALL), progress=steps.append)
    done = {stage: [s.done for s in steps if s.stage == stage] for stage in ("pages", "summaries")}
    assert done["pages"] == [1, 2, 3]
    assert done["summaries"] == list(range(1, report.statistics.chunks + 1))
    assert steps[-1].total == report.statistics.chunks


# --- by any parser ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_every_parser_cuts_a_crawl_into_chunks_that_are_checked_and_counted(
    name: str, crawl: Path, output: Path
) -> None:
    report = documentation.run(crawl, output, DocsOptions(parser=get_parser(name), format="jsonl"))
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    figures = report.statistics
    assert (figures.coverage, figures.headings_lost) == (100, 0)
    fair = {"split-code", "too-small", "duplicate"}  # the pages repeat themselves
    assert figures.findings.keys() <= fair, "nothing is lost, misplaced or miscounted"
    assert load_parser(report.as_dict()["parser"]) == get_parser(name)
    texts = {f"{SITE}/guide": GUIDE, f"{SITE}/long": LONG, f"{SITE}/short": SHORT}
    shared = 0
    for address, text in texts.items():
        own = [row for row in rows if row["source_url"] == address]
        places = [(row["start_char"], row["end_char"]) for row in own]
        assert places == sorted(places)
        for (_, end), (start, _) in pairwise(places):
            shared += count_tokens(text[start:end]) if start < end else 0
    assert figures.tokens_shared == shared
    [code] = re.finditer(r"`\n_10\n.*?`(?=\n)", GUIDE, re.DOTALL)
    with_code = [
        row
        for row in rows
        if row["source_url"] == f"{SITE}/guide"
        and row["start_char"] < code.end()
        and row["end_char"] > code.start()
    ]
    assert figures.chunks_with_code == len(with_code) >= figures.code_blocks == 1


def test_chunks_say_which_neighbours_they_share_text_with(crawl: Path, output: Path) -> None:
    for overlap in (0, 30):
        parser = get_parser("token-overlap", chunk_size=120, chunk_overlap=overlap)
        documentation.run(crawl, output, DocsOptions(parser=parser, format="web"))
        rows = [row for row in chunks(output) if row["source_url"] == f"{SITE}/long"]
        assert len(rows) > 3
        before, after = ([row[f"overlap_with_{side}"] for row in rows] for side in ("prev", "next"))
        assert before == [False, *[overlap > 0] * (len(rows) - 1)]
        assert after == before[::-1]


def test_a_splitter_of_another_package_cuts_a_crawl_and_is_held_to_nothing_it_did_not_promise(
    tmp_path: Path, output: Path
) -> None:
    told = " ".join(f"Part {number} drives the part {number + 1} of it." for number in range(99))
    crawl = write_crawl(tmp_path / "crawl.json", [page("parts", told)])
    splitter = SentenceSplitter(chunk_size=64, chunk_overlap=16)
    report = documentation.run(crawl, output, DocsOptions(parser=splitter))
    assert report.parser["class_name"] == "ForeignNodeParser"
    assert report.statistics.tokens_shared > 0
    assert (report.statistics.coverage, report.statistics.findings) == (100, {})


def test_a_chunk_whose_place_is_unknown_is_misplaced_and_nothing_else_is_said_of_it(
    crawl: Path, output: Path
) -> None:
    report = documentation.run(crawl, output, DocsOptions(parser=Headed()))
    unplaced = [one for one in report.findings if one.kind == "misplaced"]
    assert len(unplaced) == report.statistics.chunks
    assert {one.detail for one in unplaced} == {"where its text stands in the page is not known"}
    assert report.statistics.coverage == 0


def test_tokens_are_those_of_the_parsers_own_tokenizer(crawl: Path, output: Path) -> None:
    parser = get_parser("heading", tokenizer="chars", chunk_size=900, min_chunk_size=100)
    report = documentation.run(crawl, output, DocsOptions(parser=parser))
    assert "wrong-tokens" not in report.statistics.findings
    assert report.statistics.page_tokens == sum(map(len, (GUIDE, LONG, SHORT)))


@pytest.mark.parametrize(
    ("least", "options", "workers"),
    [
        (workflow.WORTH_WORKERS, {}, 1),
        (workflow.WORTH_WORKERS, {"workers": 3}, 3),
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

    def cut(cutter: Any, found: Any, workers: int) -> Any:
        used.append(workers)
        return map(cutter, found)

    monkeypatch.setattr(workflow, "cut_pages", cut)
    monkeypatch.setattr(workflow, "WORTH_WORKERS", least)
    monkeypatch.setattr(workflow.os, "cpu_count", lambda: 7)
    documentation.run(crawl, output, DocsOptions(**options))
    assert used == [workers]
