"""What happens in the comparison: a visitor's action in, rendered parts of the page out."""

from __future__ import annotations

import queue
import time

# At runtime, since Gradio evaluates the annotations of its events.
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.render import status
from rag_nodes.apps.render.history import history
from rag_nodes.apps.session import Growing
from rag_nodes.errors import ConfigurationError, RagNodesError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rag_nodes.apps.controls import Controls
    from rag_nodes.apps.options import Choice
    from rag_nodes.apps.session import Session
    from rag_nodes.apps.sessions import Sessions
    from rag_nodes.pipeline import IngestReport, Progress

PLACEHOLDER = "Type your question here..."
NOT_YET = "Upload a document first"
TICK = 0.2
"""Seconds between two looks at a running ingest."""
FRAME = 0.15
"""Seconds between two pictures of answers that grow."""
_STOPPABLE, _NOT_STOPPABLE = gr.Button(visible=True), gr.Button(visible=False)


class CompareEvents:
    """What the events do: find the visitor's session, call it, render what it returns."""

    def __init__(self, sessions: Sessions, controls: Controls, example: Path | None) -> None:
        self._sessions = sessions
        self._controls = controls
        self._example = example

    def process(
        self, files: list[str] | None, request: gr.Request, *values: Any
    ) -> Iterator[tuple[Any, ...]]:
        """Load the uploaded documents, or the loaded ones again with other options."""
        yield from self._load([Path(file) for file in files or ()], request, values)

    def process_example(self, request: gr.Request, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Load the example document."""
        yield from self._load([self._example] if self._example else [], request, values)

    def process_given(self, documents: Sequence[Path]) -> Callable[..., Iterator[tuple[Any, ...]]]:
        """An event that loads these documents."""

        def process_given(request: gr.Request, *values: Any) -> Iterator[tuple[Any, ...]]:
            yield from self._load(documents, request, values)

        return process_given

    def changed(self, files: list[str] | None, request: gr.Request) -> Any:
        """Point out that options take effect only when they are applied."""
        if not files and not self._session(request).paths:
            return gr.skip()
        return gr.Button("Apply changes", interactive=True, variant="primary")

    def ask(self, question: str, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """Answer a question: first the empty columns, then the answers as they grow."""
        question = str(question or "").strip()  # a script may send anything
        if not question:
            raise gr.Error("Type a question first.", print_exception=False)
        session = self._session(request)
        growing = tuple(Growing(name) for name in session.columns)
        yield _pending(session, question, growing), gr.Textbox("", interactive=False), _STOPPABLE
        shown = time.monotonic()
        for growing in session.stream(question):
            if time.monotonic() - shown >= FRAME:
                yield _pending(session, question, growing), gr.skip(), gr.skip()
                shown = time.monotonic()
        yield history(session.turns, ready=session.ready), _question_box(session), _NOT_STOPPABLE

    def stop(self, request: gr.Request) -> None:
        """End the answers that are being written."""
        self._session(request).stop()

    def clear(self, request: gr.Request) -> str:
        """Forget the questions."""
        session = self._session(request)
        session.clear()
        return history((), ready=session.ready)

    def _load(
        self, paths: Sequence[Path], request: gr.Request, values: Sequence[Any]
    ) -> Iterator[tuple[Any, ...]]:
        session = self._session(request)
        choice = self._controls.choice(values)
        closed = gr.Textbox(placeholder="Processing", interactive=False)
        busy = gr.Button("Processing", interactive=False, variant="secondary")
        try:
            for panel in _progress(session, paths, choice):
                yield panel, gr.skip(), closed, busy, gr.skip()
            panel = status.done(session.report) if session.report else status.idle()
            again = gr.Button("Apply changes", interactive=False, variant="secondary")
        except RagNodesError as error:
            panel = status.failed(str(error), session.report)
            again = gr.Button("Try again", interactive=True, variant="secondary")
        yield (
            panel,
            history(session.turns, ready=session.ready),
            _question_box(session),
            again,
            gr.Row(visible=session.ready and session.paths == (self._example,)),
        )

    def _session(self, request: gr.Request) -> Session:
        try:
            return self._sessions.of(request.session_hash)
        except ConfigurationError as error:
            raise gr.Error(str(error), print_exception=False) from error


def _pending(session: Session, question: str, growing: Sequence[Growing]) -> str:
    return history(session.turns, ready=session.ready, pending=question, growing=growing)


def _progress(session: Session, paths: Sequence[Path], choice: Choice) -> Iterator[str]:
    """Load in another thread, and show how far it is.

    Raises:
        RagNodesError: what `Session.load` raised.
    """
    steps: queue.SimpleQueue[Progress] = queue.SimpleQueue()
    latest: dict[str, Progress] = {}
    yield status.working(latest, choice.parsers)
    with ThreadPoolExecutor(1, thread_name_prefix="load") as pool:
        running = pool.submit(session.load, paths, choice, steps.put)
        while not _ended(running):
            while not steps.empty():
                step = steps.get()
                latest["" if step.stage == "read" else step.name] = step
            yield status.working(latest, choice.parsers)
        running.result()


def _ended(running: Future[IngestReport]) -> bool:
    return bool(wait([running], timeout=TICK).done)


def _question_box(session: Session) -> gr.Textbox:
    """Open once there is something to ask (S0-17)."""
    return gr.Textbox(
        value="",
        interactive=session.ready,
        placeholder=PLACEHOLDER if session.ready else NOT_YET,
    )
