"""`docs` on small crawls, offline unless they say otherwise."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from crawls import LONG, SHORT, SITE, page, write_crawl
from fake_time import FakeTime
from openai_server import FAILING, UNAUTHORIZED, Fault, OpenAIServer, Recorded
from tests.cli.conftest import Command

from rag_nodes.documentation import FORMATS, MEASURES
from rag_nodes.models import pacing
from rag_nodes.models.openai import client
from rag_nodes.operations import ExitCode, crawls

SIZES = ("--max-tokens", 200, "--min-tokens", 20)


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    return write_crawl(tmp_path / "crawl.json")


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "chunks.json"


def test_the_report_shows_statistics_and_where_the_chunks_are(
    command: Command, crawl: Path, output: Path
) -> None:
    ended = command("docs", crawl, output, *SIZES)
    assert ended.code == ExitCode.DONE
    assert "3, 1 repeated, 4 URLs" in ended.stdout
    assert "H1 3, H2 2, H3 1" in ended.stdout
    assert "100 % of the visible text" in ended.stdout
    assert "extract by extractive" in ended.stdout
    assert f"{SITE}/short is also at {SITE}/copy" in ended.stdout
    assert f"Wrote {output}" in ended.stdout
    assert len(json.loads(output.read_text(encoding="utf-8"))) > 3


def test_any_parser_cuts_with_any_overlap(command: Command, crawl: Path, output: Path) -> None:
    asked = ("docs", crawl, output, "--format", "web", "--parser", "token-overlap")
    ended = command(*asked, "--max-tokens", 120, "--overlap", 30)
    assert ended.code == ExitCode.DONE
    assert "token-overlap:chunk_size=120,chunk_overlap=30 · " in ended.stdout
    rows = json.loads(output.read_text(encoding="utf-8"))
    assert max(row["token_count"] for row in rows) <= 120
    assert any(row["overlap_with_next"] for row in rows)
    figures = command(*asked[:-1], "token-overlap:chunk_size=120", "--json").json["statistics"]
    assert figures["tokens_shared"] > 0
    assert figures["coverage"] == 100


def test_progress_goes_to_stderr_unless_quiet(command: Command, crawl: Path, output: Path) -> None:
    assert "split " in command("docs", crawl, output).stderr
    assert command("docs", crawl, output, "--quiet").stderr == ""


def test_failed_pages_are_named_and_give_code_3(
    command: Command, tmp_path: Path, output: Path
) -> None:
    crawl = write_crawl(tmp_path / "bad.json", [page("a", SHORT), page("b", "", error="x")])
    ended = command("docs", crawl, output)
    assert ended.code == ExitCode.PARTIAL
    assert "data[1].markdown: no text" in " ".join(ended.stdout.split())


def test_no_good_page_is_a_failure(command: Command, tmp_path: Path, output: Path) -> None:
    ended = command("docs", write_crawl(tmp_path / "bad.json", [page("a", "")]), output)
    assert ended.code == ExitCode.FAILURE
    assert not output.exists()


def test_a_crossed_threshold_gives_code_4_also_where_pages_failed(
    command: Command, tmp_path: Path, output: Path
) -> None:
    crawl = write_crawl(tmp_path / "bad.json", [page("a", LONG), page("b", "")])
    kept = command("docs", crawl, output, "--fail-on", "lost-headings,coverage=99.9")
    assert kept.code == ExitCode.PARTIAL
    crossed = command("docs", crawl, output, "--fail-on", "coverage,failed-pages=0")
    assert crossed.code == ExitCode.GATE == 4
    assert "threshold crossed: failed-pages: 1, over 0" in crossed.stdout
    said = command("docs", crawl, output, "--fail-on", "failed-pages", "--json", "--quiet").stderr
    page_of, gate = said.splitlines()
    assert "data[1].markdown: no text" in page_of
    assert gate.startswith("failed-pages: 1, over 0")
    assert output.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--fail-on", "headings"), "--fail-on: 'headings' is no measure"),
        (("--format", "xml"), "'xml' is not one of"),
        (("--max-tokens", 50, "--min-tokens", 60), "chunk_size"),
        (("--parser", "pages"), "unknown parser 'pages'"),
        (("--parser", "fixed", "--max-tokens", 300), "--max-tokens: fixed counts characters"),
        (
            ("--parser", "sentence:chunk_overlap=1", "--max-tokens", 9),
            "if you mean them, write --parser sentence:chunk_overlap=1,chunk_size=9",
        ),
        (("--parser", "page", "--overlap", 3), "--overlap: page has no option chunk_overlap"),
        (("--parser", "parent-child", "--min-tokens", 3), "has no option min_chunk_size"),
        (("--overlap", 2000), "chunk_overlap"),
        (("--overlap", 10, "-p", "heading:chunk_overlap=9"), "chunk_overlap is given twice"),
    ],
)
def test_wrong_options_are_usage_errors(
    arguments: tuple[object, ...], words: str, command: Command, crawl: Path, output: Path
) -> None:
    ended = command("docs", crawl, output, *arguments)
    assert ended.code == ExitCode.USAGE
    assert words in " ".join(ended.stderr.split())
    assert not output.exists()


def test_a_file_that_is_no_crawl_is_a_failure_with_the_reason(
    command: Command, tmp_path: Path, output: Path
) -> None:
    path = tmp_path / "notes.json"
    path.write_text("notes", encoding="utf-8")
    ended = command("docs", path, output)
    assert ended.code == ExitCode.FAILURE
    assert "notes.json: not JSON from the start" in ended.stderr


def test_names_in_help_texts_are_those_of_the_library() -> None:
    fields = crawls.DocsRequest.model_fields
    assert get_args(fields["format"].annotation) == tuple(FORMATS)
    assert {"lost-headings", "coverage"} <= {*MEASURES}
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "crawls.md").read_text("utf-8")
    assert [one for one in MEASURES if f"`{one}" not in guide] == []
    assert "lost-headings, or coverage=" in (fields["fail_on"].description or "")


# --- with a model -------------------------------------------------------------------------------


@pytest.fixture
def served(command: Command, openai_server: OpenAIServer, crawl: Path, output: Path) -> Command:
    openai_server.answer = "Nine litres."
    common = ("docs", crawl, output, *SIZES, "--llm", "openai", "--api-base", openai_server.base)
    return lambda *arguments: command(*common, *arguments)


def test_the_model_writes_summaries_of_the_length_asked_for(
    served: Command, openai_server: OpenAIServer, output: Path
) -> None:
    ended = served("--summary-tokens", 77, "--knowledge-base", "Tea machines")
    assert ended.code == ExitCode.DONE
    rows = json.loads(output.read_text(encoding="utf-8"))
    assert {row["summary"] for row in rows} == {"Nine litres."}
    bodies = openai_server.asked("chat/completions")
    asked = [body["messages"][0]["content"] for body in bodies]
    assert len(asked) == len(set(asked)) > 5  # the first asks whether the model is there
    assert {(body["max_tokens"], body["temperature"]) for body in bodies} == {(77, 0.0)}
    assert all("Tea machines" in prompt for prompt in asked[1:])
    assert openai_server.asked("embeddings") == []


def test_missing_summaries_are_reported_and_resumed(
    served: Command, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawls, "_RETRY_SECONDS", 0.0)
    openai_server.fail(Fault(), times=2)
    openai_server.fail(FAILING)
    ended = served("--concurrency", 1, "--fail-on", "failed-summaries")
    assert ended.code == ExitCode.GATE
    assert "--resume" in ended.stdout
    assert served().code == ExitCode.USAGE
    before = len(openai_server.requests)
    again = served("--resume", "--fail-on", "failed-summaries")
    assert again.code == ExitCode.DONE
    assert "of them from the journal" in again.stdout
    assert len(openai_server.asked("chat/completions")) - before == 2  # the check and the failed


def test_summaries_are_given_two_minutes_unless_the_flag_says_otherwise(
    served: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed: list[float] = []
    tried = client.retried

    def noted(request: Callable[[], object], seconds: float, *more: Any, **options: Any) -> object:
        allowed.append(seconds)
        return tried(request, seconds, *more, **options)

    monkeypatch.setattr(client, "retried", noted)
    served("--json")
    assert (allowed[0], set(allowed[1:])) == (10, {120})  # the first asks whether it is there
    allowed.clear()
    served("--retry-seconds", 3, "--json")
    assert set(allowed) == {3}


def test_the_limit_of_requests_counts_every_one_from_the_first_on(
    served: Command, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sparing = ("--requests-per-minute", 3, "--retry-seconds", 600, "--concurrency", 1)
    clock = FakeTime()
    monkeypatch.setattr(pacing, "time", clock)
    monkeypatch.setattr(pacing, "pause", clock.sleep)
    monkeypatch.setattr(pacing, "asyncio", SimpleNamespace(sleep=clock.async_sleep))
    openai_server.fail(FAILING, times=2)
    arrived: list[float] = []
    record = openai_server.record

    def note(seen: Recorded) -> None:
        arrived.append(clock.now)
        record(seen)

    monkeypatch.setattr(openai_server, "record", note)
    assert served(*sparing).code == ExitCode.DONE
    bodies = openai_server.asked("chat/completions")
    assert len(arrived) == 2 + len({body["messages"][0]["content"] for body in bodies}) > 7
    assert max(sum(at <= other < at + 60 for other in arrived) for at in arrived) == 3


def test_a_refused_key_is_found_before_any_work(
    served: Command, openai_server: OpenAIServer, output: Path
) -> None:
    openai_server.fail(UNAUTHORIZED, times=9)
    assert served().code == ExitCode.USAGE
    assert not output.exists()
