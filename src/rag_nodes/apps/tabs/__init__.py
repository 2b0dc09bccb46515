"""The tabs of the page, each in a folder of its own with what it shows.

`tab.py` lays out and wires the components and returns a `TabView`; `events.py` does what they ask
for; what is drawn stands beside them. `page.py` puts the tabs beside each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import gradio as gr

__all__ = ["TabView"]


class TabView(NamedTuple):
    """How the page brings a tab up to date when it opens, or when documents were loaded meanwhile.

    `refresh` takes the values of `inputs`, which say what is on the page, and the request, and
    gives those of `outputs`; it skips what is on the page already.
    """

    refresh: Callable[..., Any]
    inputs: list[Any]
    outputs: list[Any]

    def while_open(self, tab: Any) -> Callable[..., Any]:
        """The same event for a tab that may be hidden; then it changes nothing.

        Args:
            tab: id of the tab. The event gets that of the open one before the inputs.
        """
        # Of a single output Gradio takes a tuple for its value.
        unchanged = (gr.skip(),) * len(self.outputs) if len(self.outputs) > 1 else gr.skip()

        def refresh_if_open(request: gr.Request, opened: Any, *values: Any) -> Any:
            return self.refresh(*values, request) if opened == tab else unchanged

        return refresh_if_open
