"""A visitor of the app without a browser: what Gradio hands to events, and a session in use."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.core.settings import Settings
from rag_nodes.embedding import Progress

VISITOR = "visitor"
"""Session id of all requests made here."""
DIARY = "\n\n".join(f"# Day {n}\n\nIt rained on day {n}. Nobody came to see it." for n in range(40))
"""A document of forty short sections."""
QUESTION = "What colour is the machine?"


class Request:
    """What Gradio tells of who asks."""

    session_hash = VISITOR


class Click:
    """What Gradio makes of a click on a page's own button."""

    def __init__(self, **data: Any) -> None:
        self._data = {name: str(value) for name, value in data.items()}


def ignore(_: Progress) -> None:
    """Progress nobody looks at."""


def written(path: Path, text: str) -> Path:
    """A file with that text."""
    path.write_text(text, encoding="utf-8")
    return path


def answers(session: PageSession) -> str:
    """What all parsers answer to the question of the colour, in one text."""
    report = session.ask(QUESTION).report
    assert report is not None
    return " ".join(column.answer.text for column in report.columns if column.answer)


@contextmanager
def visiting(
    settings: Settings, path: Path, text: str | None, choice: Choice
) -> Iterator[PageSessions]:
    """Sessions of which the visitor's has loaded one document, written to `path` unless there."""
    opened = PageSessions(settings)
    opened.of(VISITOR).load([path if text is None else written(path, text)], choice, ignore)
    yield opened
    opened.close()
