"""`apps/compare.py`: opened by Python as the whole app, by Gradio's own command as a page."""

import runpy
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from rag_nodes.core.settings import Settings

LAUNCHER = Path(__file__).parents[2] / "apps" / "compare.py"


def test_python_serves_the_whole_app(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADIO_WATCH_DIRS", raising=False)
    served: list[Any] = []
    monkeypatch.setattr("rag_nodes.server.launch", served.append)
    runpy.run_path(str(LAUNCHER), run_name="__main__")
    assert [type(app) for app in served] == [Settings]


def test_importing_the_launcher_offers_blocks_named_demo(
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> None:
    import gradio as gr

    with leaks_collected():
        module = runpy.run_path(str(LAUNCHER), run_name="compare")
    assert isinstance(module["demo"], gr.Blocks)
