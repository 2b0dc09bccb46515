"""What happens while documents are loaded: files and choices in, the state of the page out."""

from __future__ import annotations

import logging
import queue

# At runtime, since Gradio evaluates the annotations of its events.
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import gradio as gr

from rag_nodes.apps.sidebar import status
from rag_nodes.apps.tabs.compare.events import after_loading, while_loading
from rag_nodes.apps.view.html import tag
from rag_nodes.apps.visitors import session_of
from rag_nodes.errors import CancelledError, RagNodesError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rag_nodes.apps.sidebar.controls import Controls
    from rag_nodes.pipeline import IngestReport, Progress
    from rag_nodes.workspace.options import Choice
    from rag_nodes.workspace.session import Session
    from rag_nodes.workspace.sessions import Sessions

logger = logging.getLogger(__name__)

_FAULT = (
    "stopped by a fault of the app ({}). You can go on; whoever runs the app finds the reason in "
    "its log."
)
TICK = 0.2
"""Seconds between two looks at a running ingest."""
_OUTPUTS = 7
"""Values that every event gives that loads."""
_NOTE = tag(
    "p",
    tag("strong", "Settings have changed."),
    " Your next question applies them first.",
    cls="rn-changed",
    role="status",
)
_BUSY = (
    gr.Button("Processing", interactive=False, variant="secondary"),
    gr.Button(visible=True),
)
"""The buttons that load again and that cancel, meanwhile."""


class LoadingEvents:
    """What the events do: find the visitor's session, load, say how far it is and what came of it.

    All but `changed`, `noted` and `cancel` yield values for: status, what the comparison shows,
    process button, cancel button.

    Args:
        sessions: where each visitor's work is.
        controls: read the chosen values.
        example: the example document; None where none is offered.
    """

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

    def apply(self, request: gr.Request, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Load again where something was changed since, so that a question is answered with it.

        Raises:
            gr.Error: that failed; nothing is to be asked then.
        """
        if not self._pending(request, values):
            yield (gr.skip(),) * _OUTPUTS
            return
        failure = yield from self._load([], request, values)
        if failure is not None:
            raise gr.Error(f"Your question was not asked: {failure}", print_exception=False)

    def changed(
        self, files: list[str] | None, request: gr.Request, *values: Any
    ) -> tuple[Any, ...]:
        """Point out what is not applied yet.

        Returns:
            The button that applies it, and the note beside the question.
        """
        session = session_of(self._sessions, request)
        paths = tuple(map(Path, files or ()))
        if not paths and not session.paths:
            return gr.skip(), gr.skip()
        due = self._pending(request, values) or paths not in ((), session.paths)
        kind: Literal["primary", "secondary"] = "primary" if due else "secondary"
        button = gr.Button("Apply changes", interactive=due, variant=kind)
        return button, _NOTE if self._pending(request, values) else ""

    def noted(self, request: gr.Request, *values: Any) -> Any:
        """The note beside the question, where something was changed while documents were loaded.

        It only ever adds the note: a change that came later may have been answered already.
        """
        return _NOTE if self._pending(request, values) else gr.skip()

    def _pending(self, request: gr.Request, values: Sequence[Any]) -> bool:
        """Whether what is chosen differs from what would answer."""
        session = session_of(self._sessions, request)
        return session.ready and session.choice != self._controls.choice(values)

    def cancel(self, files: list[str] | None, request: gr.Request) -> Any:
        """End what is being loaded, and take the files away that were not.

        Returns:
            Files that are still uploaded.
        """
        session = session_of(self._sessions, request)
        session.cancel()
        loaded = tuple(map(Path, files or ())) == session.paths
        return gr.skip() if loaded else None

    def _load(
        self, paths: Sequence[Path], request: gr.Request, values: Sequence[Any]
    ) -> Generator[tuple[Any, ...], None, str | None]:
        """Load, and show how far it is; gives why that failed, if it did."""
        failure = None
        session = session_of(self._sessions, request)
        choice = self._controls.choice(values)
        try:
            for panel in _progress(session, paths, choice):
                yield panel, *while_loading(), *_BUSY
            panel = status.done(session.report) if session.report else status.idle()
            again = gr.Button("Apply changes", interactive=False, variant="secondary")
        except CancelledError:
            failure = "cancelled"
            if session.loading:  # another run took over, and shows its own progress
                return failure
            panel = status.cancelled(session.report)
            again = gr.Button("Apply changes", interactive=session.ready, variant="secondary")
        except Exception as error:
            # Whatever it was, the visitor can go on.
            known = isinstance(error, RagNodesError)
            failure = str(error) if known else _FAULT.format(type(error).__name__)
            if not known:
                logger.exception("documents could not be loaded")
            panel = status.failed(failure, session.report if known else None)
            again = gr.Button("Try again", interactive=True, variant="secondary")
        yield panel, *after_loading(session, self._example), again, gr.Button(visible=False)
        return failure


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
        try:
            while not _ended(running):
                while not steps.empty():
                    step = steps.get()
                    latest["" if step.stage == "read" else step.name] = step
                yield status.working(latest, choice.parsers)
        except GeneratorExit:  # nobody looks any longer
            session.cancel()
            raise
        running.result()


def _ended(running: Future[IngestReport]) -> bool:
    return bool(wait([running], timeout=TICK).done)
