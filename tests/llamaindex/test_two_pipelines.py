"""Two stock pipelines with our parsers, compared in a tab and measured."""

import hashlib
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import create_autospec

import gradio as gr
import pytest
from llama_index.core import Settings
from openai_server import ANSWER, OpenAIServer

from rag_nodes import Comparison

SCRIPT = Path(__file__).parents[2] / "examples" / "two_pipelines.py"
QUESTION = "When do quiet hours begin?"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


def digests(folder: Path) -> dict[str, str]:
    """Every file below a folder, by what is in it."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_it_is_thirty_lines() -> None:
    lines = SCRIPT.read_text("utf-8").partition('"""\n\n')[2].splitlines()
    assert len([line for line in lines if line.strip()]) <= 30


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")
def test_an_existing_index_is_compared_and_left_unchanged(
    tmp_path: Path,
    server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    monkeypatch.setenv("OPENAI_API_BASE", server.base)
    monkeypatch.setattr(sys, "argv", ["two_pipelines.py", str(tmp_path / "chunks")])
    monkeypatch.setattr(Settings, "_llm", None)
    monkeypatch.setattr(Settings, "_embed_model", None)
    launch = create_autospec(gr.TabbedInterface.launch)
    monkeypatch.setattr(gr.TabbedInterface, "launch", launch)
    with leaks_collected():
        names = runpy.run_path(str(SCRIPT))
    before = digests(tmp_path / "chunks")
    assert any(name.endswith("storage.sqlite") for name in before)
    assert [row.error for row in names["report"].rows] == [None, None]
    assert [row.cost.recovery for row in names["report"].rows] == [1.0, 1.0]
    assert all(0 <= row.means["recall@1000"] <= 1 for row in names["report"].rows)

    assert names["report"].said[0] in capsys.readouterr().out
    ((app,), _) = launch.call_args
    blocks = app.blocks.values()
    page = [block for block in blocks if "rn-app" in getattr(block, "elem_classes", ())]
    assert len(page) == 1

    text = names["documents"][0].text
    with Comparison(names["engines"], documents=names["documents"]) as comparison:
        columns = comparison.ask(QUESTION).columns
    assert [column.title for column in columns] == [
        "by heading (HeadingHierarchyNodeParser)",
        "by sentence (SentenceNodeParser)",
    ]
    for column in columns:
        assert column.answer is not None
        assert column.answer.text == ANSWER
        [citation] = column.answer.citations
        assert text[citation.start : citation.end] == citation.quote
        assert citation.page is not None
        assert column.statistics.not_located == 0
    assert "sk-of-the-user" not in str([column.as_dict() for column in columns])
    assert digests(tmp_path / "chunks") == before
