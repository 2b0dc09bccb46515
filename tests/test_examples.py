"""Every script under `examples/` runs as a user would run it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from llama_index.core import Settings

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


def run(script: str, *arguments: str, folder: Path) -> str:
    """Standard output of an example, run offline in an empty folder."""
    keys = ("OPENAI", "RAG_NODES", "QDRANT")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(keys)}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / script), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


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
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("script", OF_PRESETS)
def test_components_of_llama_index_take_the_nodes_of_every_preset(
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
def test_a_script_runs_without_being_told_anything(
    script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(EXAMPLES / f"{script}.py")
    monkeypatch.setattr(sys, "argv", [path])
    runpy.run_path(path, run_name="__main__")
    assert capsys.readouterr().out


def test_a_parser_drops_into_a_stock_pipeline(tmp_path: Path) -> None:
    assert "every one an exact slice" in run("drop_in_pipeline.py", folder=tmp_path)


def test_ingesting_into_qdrant_twice_writes_once(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    first = run("ingest_to_qdrant.py", "--store", store, folder=tmp_path)
    assert " 0 written" not in first
    second = run("ingest_to_qdrant.py", "--store", store, folder=tmp_path)
    assert second.startswith("unchanged")
    assert " 0 written" in second


def test_ingesting_into_a_qdrant_server_by_its_url(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location(
        "qdrant_server", Path(__file__).parent / "store" / "qdrant_server.py"
    )
    assert spec is not None
    assert spec.loader is not None
    server = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(server)
    with server.serve() as double:
        written = run("ingest_to_qdrant.py", "--store", double.url, folder=tmp_path)
    assert written.startswith("read")
    assert " 0 written" not in written
