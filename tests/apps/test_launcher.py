"""`apps/compare.py`: opened by Python as the whole app, by Gradio's own command as a page."""

from __future__ import annotations

import os
import re
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from rag_nodes.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

LAUNCHER = Path(__file__).parents[2] / "apps" / "compare.py"
_ADDRESS = re.compile(r"local URL:\s+(http://\S+)")


def test_python_serves_the_whole_app(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADIO_WATCH_DIRS", raising=False)
    served: list[Any] = []
    monkeypatch.setattr("rag_nodes.server.launch", served.append)
    runpy.run_path(str(LAUNCHER), run_name="__main__")
    assert [type(one) for one in served] == [Settings]


def test_whoever_imports_it_finds_blocks_named_demo(
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> None:
    import gradio as gr

    with leaks_collected():
        found = runpy.run_path(str(LAUNCHER), run_name="compare")
    assert isinstance(found["demo"], gr.Blocks)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no groups of processes")
def test_the_command_of_gradio_serves_the_page_in_its_reload_mode(tmp_path: Path) -> None:
    copied = tmp_path / "apps" / "compare.py"
    copied.parent.mkdir()
    copied.write_text(LAUNCHER.read_text(encoding="utf-8"), encoding="utf-8")
    places = {name: str(tmp_path) for name in ("HOME", "TMPDIR", "GRADIO_TEMP_DIR")}
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("gradio")), "apps/compare.py"],
        cwd=tmp_path,
        env=os.environ | places | {"GRADIO_ANALYTICS_ENABLED": "False"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        address, said = _wait_for(process, _ADDRESS)
        assert address, said
        assert "Watching" in said
        page = httpx.get(address[1]).text
        assert "rag_nodes: compare parsers" in page
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _wait_for(process: subprocess.Popen[str], wanted: re.Pattern[str]) -> tuple[Any, str]:
    """The first line that says it, and all before; none where the process ends without."""
    said = ""
    for line in process.stdout or ():
        said += line
        if found := wanted.search(line):
            return found, said
    return None, said
