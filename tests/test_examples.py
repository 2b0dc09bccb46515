"""Every script under `examples/` runs as a user would run it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


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


def test_a_parser_drops_into_a_stock_pipeline(tmp_path: Path) -> None:
    assert "every one an exact slice" in run("drop_in_pipeline.py", folder=tmp_path)


def test_a_parser_drops_into_a_vector_store_index(tmp_path: Path) -> None:
    lines = run("vector_store_index.py", "How do I start?", folder=tmp_path).splitlines()
    assert lines[0] == "How do I start?"
    assert [line[:2] for line in lines[1:]] == ["1.", "2.", "3."]


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
    with server.serve() as url:
        written = run("ingest_to_qdrant.py", "--store", url, folder=tmp_path)
    assert written.startswith("read")
    assert " 0 written" not in written
