"""`docs` on small crawls, offline unless they say otherwise (S1-33; with a model S1-22, S1-23)."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from crawls import SHORT, page, write_crawl
from fake_time import FakeTime
from openai_server import FAILING, UNAUTHORIZED, Fault, OpenAIServer, Recorded
from tests.cli.conftest import Command

from rag_nodes.models import pacing
from rag_nodes.models.openai import client
from rag_nodes.operations import ExitCode, crawls

SIZES = ("--max-tokens", 200, "--parser", "heading:min_chunk_size=20")


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
    assert "3, 4 URLs" in ended.stdout
    assert "H1 3, H2 2, H3 1" in ended.stdout
    assert "100 % of the visible text" in ended.stdout
    assert "extract by extractive" in ended.stdout
    assert f"Wrote {output}" in ended.stdout
    assert len(json.loads(output.read_text(encoding="utf-8"))) > 3


def test_a_path_that_is_longer_than_the_line_stays_one_word(
    command: Command, crawl: Path, tmp_path: Path
) -> None:
    output = tmp_path / ("x" * 150) / "chunks.json"
    output.parent.mkdir()
    assert str(output) in command("docs", crawl, output, *SIZES).stdout


def test_any_parser_splits_and_the_suffix_decides_the_shape(
    command: Command, crawl: Path, tmp_path: Path
) -> None:
    output = tmp_path / "chunks.jsonl"
    parser = "token-overlap:chunk_overlap=30"
    ended = command("docs", crawl, output, "--parser", parser, "--max-tokens", 120)
    assert ended.code == ExitCode.DONE
    assert "token-overlap:chunk_overlap=30,chunk_size=120 · " in ended.stdout
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert max(row["token_count"] for row in rows) <= 120
    assert any(row["overlap_with_next"] for row in rows)


def test_progress_goes_to_stderr_unless_quiet(command: Command, crawl: Path, output: Path) -> None:
    assert "split " in command("docs", crawl, output).stderr
    assert command("docs", crawl, output, "--quiet").stderr == ""


def test_failed_pages_are_named_and_give_code_3(
    command: Command, tmp_path: Path, output: Path
) -> None:
    crawl = write_crawl(tmp_path / "bad.json", [page("a", SHORT), page("b", "", error="x")])
    ended = command("docs", crawl, output)
    assert ended.code == ExitCode.PARTIAL
    assert "data[1]: the crawler answered with an error: x" in " ".join(ended.stdout.split())


def test_no_good_page_is_a_failure(command: Command, tmp_path: Path, output: Path) -> None:
    ended = command("docs", write_crawl(tmp_path / "bad.json", [page("a", "")]), output)
    assert ended.code == ExitCode.FAILURE
    assert not output.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--max-tokens", 50), "chunk_size"),
        (("--parser", "pages"), "unknown parser 'pages'"),
        (
            ("--parser", "fixed", "--max-tokens", 300),
            "does not count tokens, or has a size already; leave it out, or write --parser fixed:",
        ),
        (
            ("--parser", "sentence:chunk_overlap=1", "--max-tokens", 9),
            "write --parser sentence:chunk_overlap=1,chunk_size=9",
        ),
        (("--max-tokens", 10, "-p", "heading:chunk_size=9"), "has a size already"),
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
    ended = served("--concurrency", 1)
    assert ended.code == ExitCode.PARTIAL
    assert "--resume" in ended.stdout
    assert served().code == ExitCode.USAGE
    before = len(openai_server.requests)
    again = served("--resume")
    assert again.code == ExitCode.DONE
    assert len(openai_server.asked("chat/completions")) - before == 2  # the check and the failed


def test_summaries_are_given_two_minutes_unless_the_flag_says_otherwise(
    served: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed: list[float] = []
    tried = client.retried

    def note_seconds(
        request: Callable[[], object], seconds: float, *more: Any, **options: Any
    ) -> object:
        allowed.append(seconds)
        return tried(request, seconds, *more, **options)

    monkeypatch.setattr(client, "retried", note_seconds)
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
