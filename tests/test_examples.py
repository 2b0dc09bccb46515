"""Every script under `examples/` runs as a user would run it."""

import importlib
import os
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from llama_index.core import Settings
from store import qdrant_server

from rag_nodes.parsers import PRESETS

EXAMPLES = Path(__file__).parents[1] / "examples"
OF_PRESETS = {
    "agent": r"The supply, at the breaker\.\n(manual: manual\.md \d+-\d+\n)+",
    "auto_merging": r"found: \[\d.*\] characters\nread: \[\d.*\] characters\n",
    "citations": r"The supply, at the breaker\. \[1\]\n(Source \d+: manual.md \d+-\d+ exact\n)+",
    "ingestion_pipeline": r"\d+ chunks, \d+ with .*\n0 chunks in the second run\n",
    "persist_and_load": r"stored: (\['\w{8} .*'\])\nloaded: \1\n",
    "sentence_window": r"found: (['\"])(.*)\1\nread: .*\2.*\n",
    "sub_questions": r"The supply, at the breaker\. Four\.\n(manual\.md \d+-\d+\n){2}",
    "vector_store_index": r"How do I start\?\n(\d\. -?\d\.\d+ .*\n)+",
}
"""What the scripts print that run with any preset."""
OF_EACH_CLASS = {file.path: name for name, file in PRESETS.items()}.values()


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Standard output of an example, run offline in an empty folder."""
    for name in [name for name in os.environ if name.startswith(("OPENAI", "RAG_NODES", "QDRANT"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def ran(script: str, *arguments: str) -> str:
        path = str(EXAMPLES / script)
        monkeypatch.setattr(sys, "argv", [path, *arguments])
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as ended:
            assert not ended.code  # noqa: PT017 -- which is how a script ends
        return capsys.readouterr().out

    return ran


@pytest.fixture
def no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has set a model of LlamaIndex's, and no key is around."""
    for name in ("_llm", "_embed_model"):
        monkeypatch.setattr(Settings, name, None)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.syspath_prepend(EXAMPLES)


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")  # core's own agents
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # how core starts workers
@pytest.mark.usefixtures("no_models")
@pytest.mark.parametrize("preset", OF_EACH_CLASS)
@pytest.mark.parametrize("script", OF_PRESETS)
def test_components_of_llama_index_take_the_nodes_of_every_parser(
    script: str, preset: str, capsys: pytest.CaptureFixture[str]
) -> None:
    importlib.import_module(script).main(preset)
    assert re.fullmatch(OF_PRESETS[script], capsys.readouterr().out)


def test_every_script_is_run_here() -> None:
    others = {"stand_ins", "drop_in_pipeline", "ingest_to_qdrant", "two_pipelines"}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*OF_PRESETS, *others}


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.usefixtures("no_models")
@pytest.mark.parametrize("script", OF_PRESETS)
def test_a_script_runs_without_being_told_anything(script: str, run: Callable[..., str]) -> None:
    assert run(f"{script}.py")


def test_a_parser_drops_into_a_stock_pipeline(run: Callable[..., str]) -> None:
    assert "every one an exact slice" in run("drop_in_pipeline.py")


def test_ingesting_into_qdrant_twice_writes_once(run: Callable[..., str]) -> None:
    assert " 0 written" not in run("ingest_to_qdrant.py", "--store", "store")
    second = run("ingest_to_qdrant.py", "--store", "store")
    assert second.startswith("unchanged")
    assert " 0 written" in second


def test_ingesting_into_a_qdrant_server_by_its_url(run: Callable[..., str]) -> None:
    with qdrant_server.serve() as double:
        written = run("ingest_to_qdrant.py", "--store", double.url)
    assert written.startswith("read")
    assert " 0 written" not in written
