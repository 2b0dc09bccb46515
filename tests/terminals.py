"""A terminal in memory, for tests of what the command line shows on one."""

import io

from rich.console import Console


def terminal(width: int = 80) -> Console:
    """A terminal that keeps what it shows; see `shown_text`."""
    return Console(
        file=io.StringIO(), force_terminal=True, width=width, markup=False, color_system=None
    )


def shown_text(console: Console) -> str:
    """What such a terminal has shown."""
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()
