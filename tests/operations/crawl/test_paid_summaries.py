"""Summaries that an LLM writes are paid for once, also where a run fails or is killed."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from openai_server import FAILING, Fault, OpenAIServer
from tests.operations.crawl.conftest import chunks

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.embedding import SectionSummary
from rag_nodes.models.openai import OpenAIServerLLM
from rag_nodes.operations import crawl as documentation
from rag_nodes.parsers import get_parser

SMALL: dict[str, Any] = {"parser": get_parser("heading", chunk_size=200, min_chunk_size=20)}


# --- what is written ----------------------------------------------------------------------------


@pytest.fixture
def llm(openai_server: OpenAIServer, no_configuration: Path) -> OpenAIServerLLM:
    del no_configuration
    return OpenAIServerLLM(model="tea-1", api_base=openai_server.base, retry_seconds=0)


def summary_prompts(server: OpenAIServer) -> list[str]:
    return [body["messages"][0]["content"] for body in server.asked("chat/completions")]


def test_failed_summaries_are_kept_and_resume_asks_only_for_them(
    llm: OpenAIServerLLM, openai_server: OpenAIServer, crawl: Path, output: Path
) -> None:
    openai_server.fail(Fault(), times=2)
    openai_server.fail(FAILING, times=2)
    options = {**SMALL, "summary": SectionSummary(llm=llm, concurrency=1)}
    first = documentation.run(crawl, output, **options)
    assert first.statistics.summaries["failed"] == 2
    assert first.kept == f"{output}.summaries.sqlite"
    assert sum(row["metadata"].get("summary_error") is not None for row in chunks(output)) == 2
    before = len(summary_prompts(openai_server))
    with pytest.raises(ConfigurationError, match="--resume"):
        documentation.run(crawl, output, **options)
    second = documentation.run(crawl, output, resume=True, **options)
    assert len(summary_prompts(openai_server)) == before + 2
    assert second.kept is None
    assert not output.with_name("chunks.json.summaries.sqlite").exists()


class Holding(OpenAIServer):
    """Tells when the request that is held has arrived."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()

    def hold(self, released: threading.Event) -> None:
        self.reached.set()
        super().hold(released)


def test_a_killed_run_resumes_without_paying_twice(
    crawl: Path, output: Path, no_configuration: Path
) -> None:
    del no_configuration
    script = (
        "import sys\n"
        "from rag_nodes.operations import crawl\n"
        "from rag_nodes.models.openai.llm import OpenAIServerLLM\n"
        "llm = OpenAIServerLLM(model='tea-1', api_base=sys.argv[3])\n"
        "from rag_nodes import get_parser\n"
        "parser = get_parser('heading', chunk_size=200, min_chunk_size=20)\n"
        "from rag_nodes import SectionSummary\n"
        "summary = SectionSummary(llm=llm, concurrency=1)\n"
        "crawl.run(sys.argv[1], sys.argv[2], parser=parser, summary=summary)\n"
    )
    with Holding() as server:
        server.fail(Fault(), times=4)
        server.fail(Fault(body="slow"))
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(crawl), str(output), server.base]
        )
        assert server.reached.wait(timeout=120)
        process.kill()
        process.wait()
        paid = summary_prompts(server)[:4]
        assert not output.exists()
        server.reset()

        llm = OpenAIServerLLM(model="tea-1", api_base=server.base)
        options = {**SMALL, "summary": SectionSummary(llm=llm, concurrency=1)}
        report = documentation.run(crawl, output, resume=True, **options)
        assert report.complete
        # What reads the same, in the same place of a page of the same title, is asked once.
        assert len(summary_prompts(server)) == len(set(summary_prompts(server)))
        assert not set(summary_prompts(server)) & set(paid)
        resumed = output.read_bytes()

        documentation.run(crawl, output, **options)
        assert output.read_bytes() == resumed
