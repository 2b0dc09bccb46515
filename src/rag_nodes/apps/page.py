"""Gradio's blocks without a way for visitors to make this server fetch things."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

if TYPE_CHECKING:
    from collections.abc import Iterator


class Page(gr.Blocks):
    """Blocks whose events take files that were uploaded, and none from the web.

    Otherwise whoever sends an address in place of a file has this server download it, of any size
    and whatever the limit of uploads.
    """

    async def preprocess_data(self, block_fn: Any, inputs: list[Any], *rest: Any) -> list[Any]:
        """Refuse addresses before Gradio looks at the inputs.

        Raises:
            gr.Error: an input names a file by its address.
        """
        if any("://" in path for path in _paths(inputs)):
            raise gr.Error("Upload the file: addresses are not opened.", print_exception=False)
        processed: list[Any] = await super().preprocess_data(block_fn, inputs, *rest)
        return processed


def _paths(inputs: list[Any]) -> Iterator[str]:
    """What the files among the inputs are called, however deep they are."""
    left: list[Any] = [inputs]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            left += one.values()
            if isinstance(one.get("path"), str):
                yield one["path"]
        elif isinstance(one, list):
            left += one
