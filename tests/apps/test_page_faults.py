"""Inputs that cannot be taken: the visitor is told in words, and whoever runs the app where due."""

from __future__ import annotations

import errno
import logging
from typing import TYPE_CHECKING, Any

import gradio as gr
import pytest

from rag_nodes.apps.inside_gradio import DOES_NOT_FIT, GuardedBlocks

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


@pytest.mark.parametrize(
    ("fault", "level"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), logging.WARNING),
        (FileNotFoundError(errno.ENOENT, "No such file"), logging.DEBUG),
        (TypeError("a list is no number"), logging.DEBUG),
    ],
    ids=["full disk", "no such file", "wrong type"],
)
async def test_a_fault_of_the_server_is_logged_and_nonsense_is_not(
    fault: Exception,
    level: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> None:
    async def stumble(*_: Any) -> list[Any]:
        raise fault

    monkeypatch.setattr(gr.Blocks, "preprocess_data", stumble)
    caplog.set_level(logging.DEBUG, "rag_nodes.apps.inside_gradio")
    with leaks_collected(), GuardedBlocks() as page:
        gr.Textbox()
    with pytest.raises(gr.Error, match=DOES_NOT_FIT):
        await page.preprocess_data(None, [1])
    assert [
        one.levelno for one in caplog.records if one.name == "rag_nodes.apps.inside_gradio"
    ] == [level]
