"""The tabs of the page, each in a folder of its own with what it shows.

`tab.py` lays out and wires the components and returns a `TabView`; `events.py` does what they ask
for; what is drawn stands beside them. `page.py` puts the tabs beside each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["TabView"]


class TabView(NamedTuple):
    """How the page brings a tab up to date when it opens, or when documents were loaded meanwhile.

    Attributes:
        refresh: takes the values of `inputs` and the request, gives those of `outputs`; a generator
            gives them in steps. It skips what is on the page already.
        inputs: components that say what is on the page.
        outputs: components that it changes.
    """

    refresh: Callable[..., Any]
    inputs: list[Any]
    outputs: list[Any]
