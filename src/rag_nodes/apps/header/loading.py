"""What happens while documents are loaded: files and choices in, the state of the page out."""

from __future__ import annotations

import logging

# At runtime, since Gradio evaluates the annotations of its events.
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import gradio as gr

from rag_nodes.apps.header import status
from rag_nodes.apps.inside_gradio import Drawn, for_scripts, is_uploaded, now
from rag_nodes.apps.visitors.sessions import KNOWN, KNOWN_BY, session_of
from rag_nodes.core.errors import CancelledError, RagNodesError
from rag_nodes.core.keys import trace_of

if TYPE_CHECKING:
    from gradio.events import Dependency

    from rag_nodes.apps.header.panel import Header
    from rag_nodes.apps.visitors.choice import Choice
    from rag_nodes.apps.visitors.jobs import Job
    from rag_nodes.apps.visitors.session import PageSession, Steps
    from rag_nodes.apps.visitors.sessions import PageSessions
    from rag_nodes.embedding import DocumentsReport

logger = logging.getLogger(__name__)

AT_ONCE = 8
"""Visitors whose documents are read at the same time."""
_AFTER_LOADING = """() => {
  document.querySelector('#rn-status .rn-error')
    ?.scrollIntoView({behavior: 'smooth', block: 'nearest'});
  document.querySelector('#rn-more')?.setAttribute('aria-expanded',
    document.querySelector('#rn-header.rn-open') !== null);
}"""
"""An error comes into view; what folds the parsers says whether they are folded."""
_FAULT = (
    "stopped by a fault of the app ({}). You can go on; whoever runs the app finds the reason in "
    "its log."
)
_CANCELLED = "cancelled"
LOOKING = 100
"""Pages that may look at loading that runs already; looking costs next to nothing."""
TICK = 0.2
"""Seconds between two looks at a running ingest."""
_NOTE = """<p class="rn-changed" role="status"><strong>Settings have changed.</strong>
Your next question applies them first.</p>"""


class Follower(NamedTuple):
    """What outside the header shows that documents are loaded.

    `note` is where it says that settings have changed; the other components have values
    `meanwhile`, and `afterwards`, once loading has ended, well or not.
    """

    components: Sequence[Any]
    note: gr.HTML
    meanwhile: Callable[[], tuple[Any, ...]]
    afterwards: Callable[[PageSession], tuple[Any, ...]]


class LoadingEvents:
    """What the events do: find the visitor's session, load, say how far it is and what came of it.

    All but `changed`, `noted` and `cancel` yield values for `outputs`.

    Attributes:
        inputs: components whose values every event takes.
        outputs: components that every event changes which loads.
        arrived: what a page begins with; its session is known from then on. Made by `wire`.
    """

    def __init__(
        self, sessions: PageSessions, header: Header, follower: Follower, example: Path | None
    ) -> None:
        self._sessions = sessions
        self._header = header
        self._follower = follower
        self._example = example
        self.arrived: Dependency
        self._token = gr.Textbox(visible=False)
        self.inputs = header.controls.inputs
        self.outputs = [header.status, *follower.components, header.process, header.cancel]

    def wire(self, app: gr.Blocks, documents: Sequence[Path] = ()) -> list[Dependency]:
        """Let the header load documents.

        Returns:
            The events that load, for what is to be done when one has ended.
        """
        header, note = self._header, self._follower.note
        common: dict[str, Any] = {
            "outputs": self.outputs,
            "show_progress": "hidden",
            "concurrency_limit": AT_ONCE,
            "trigger_mode": "multiple",  # what is uploaded later takes over
        }
        uploads = [header.files.upload, header.process.click]
        given = [header.files, *self.inputs]
        for_scripts("process", self.process, given, **common)
        for_scripts("process_example", self.process_example, self.inputs, **common)
        common["api_visibility"] = "private"
        events = [
            gr.on(uploads, self.process, given, **common),
            header.example.click(self.process_example, self.inputs, **common),
        ]
        arrived = self.arrived = app.load(
            self.arrive(documents),
            [self._token, *self.inputs],
            [*self.inputs, header.files],
            js=KNOWN_BY,
            show_progress="hidden",
            api_visibility="private",
        )
        looking = {**common, "concurrency_limit": LOOKING}
        events.append(arrived.then(self.look, **looking))
        quiet: dict[str, Any] = {
            "show_progress": "hidden",
            "queue": False,
            "api_visibility": "private",
        }
        for event in events:
            event.then(None, js=_AFTER_LOADING, api_visibility="private")
            event.then(self.noted, self.inputs, [header.process, note], **quiet)
        header.cancel.click(self.cancel, header.files, header.files, **quiet)
        gr.on(
            [component.change for component in self.inputs],  # type: ignore[attr-defined]
            self.changed,
            given,
            [header.process, note],
            trigger_mode="multiple",  # two events of one change that wait start each other forever
            **quiet,
        )
        return events

    def process(
        self, files: list[str] | None, request: gr.Request, *values: Any
    ) -> Iterator[tuple[Any, ...]]:
        """Load the uploaded documents, or the loaded ones again with other options."""
        yield from self._load([Path(file) for file in files or ()], request, values)

    def process_example(self, request: gr.Request, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Load the example document."""
        yield from self._load([self._example] if self._example else [], request, values)

    def arrive(self, documents: Sequence[Path]) -> Callable[..., list[Any]]:
        """An event that finds the session of a tab that opens or loads the page.

        Returns:
            The event; it takes the tab's token and what is chosen, and gives what was chosen and
            uploaded before.
        """

        def arrive(token: str, request: gr.Request, *values: Any) -> list[Any]:
            session = session_of(self._sessions, request, token.removeprefix(KNOWN))
            chosen = session.chosen
            if chosen is None:
                session.is_lost = token.startswith(KNOWN)
                choice = self._choice(session, values)
                if documents:
                    session.start_loading(documents, choice)
                return [gr.skip()] * (len(values) + 1)
            session.key_is_hidden = chosen.api_key is not None
            kept = [str(one) for one in session.uploads if is_uploaded(one)]
            return [*self._header.controls.restored(chosen), kept or gr.skip()]

        return arrive

    def look(self, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """Show how far loading is, if there is any, and what there is."""
        session = session_of(self._sessions, request)
        if session.last_loading or session.ready or session.is_lost:
            yield from self._look(session, session.last_loading)
        else:  # so every page begins; said late, it would hide what was loaded meanwhile
            yield (gr.skip(),) * len(self.outputs)

    def apply(self, request: gr.Request, *values: Any) -> Iterator[tuple[Any, ...]]:
        """What goes before a question: wait for documents, and load again where that is due.

        Raises:
            gr.Error: that failed; nothing is to be asked then.
        """
        session, failure = session_of(self._sessions, request), None
        if session.loading:
            failure = yield from self._wait(session)
        if failure is None and self._pending(request, values):
            failure = yield from self._load([], request, values)
            if failure == _CANCELLED:
                failure = yield from self._wait(session, failure)
        elif failure is None:
            yield (gr.skip(),) * len(self.outputs)
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
        due = self._pending(request, values) or paths not in ((), session.uploads)
        kind: Literal["primary", "secondary"] = "primary" if due else "secondary"
        button = gr.Button("Apply changes", interactive=due, variant=kind)
        return button, _NOTE if self._pending(request, values) else ""

    def noted(self, request: gr.Request, *values: Any) -> tuple[Any, ...]:
        """What `changed` points out, where something was changed while documents were loaded.

        It only ever adds that: a change that came later may have been answered already.
        """
        if session_of(self._sessions, request).loading or not self._pending(request, values):
            return gr.skip(), gr.skip()
        return gr.Button(interactive=True, variant="primary"), _NOTE  # it may say "Try again"

    def _pending(self, request: gr.Request, values: Sequence[Any]) -> bool:
        """Whether what is chosen differs from what would answer."""
        session = session_of(self._sessions, request)
        return session.ready and session.choice != self._choice(session, values)

    def cancel(self, files: list[str] | None, request: gr.Request) -> Any:
        """End what is being loaded, and take the files away that were not loaded.

        Returns:
            Files that are still uploaded.
        """
        session = session_of(self._sessions, request)
        session.cancel()
        loaded = tuple(map(Path, files or ())) == session.uploads
        return gr.skip() if loaded else None

    def _choice(self, session: PageSession, values: Sequence[Any]) -> Choice:
        """What is chosen; a page that was loaded again does not show the key that was typed in."""
        choice = self._header.controls.choice(values)
        if choice.api_key is not None:
            session.key_is_hidden = False
        elif session.key_is_hidden and session.chosen:
            choice = replace(choice, api_key=session.chosen.api_key)
        session.chosen = choice
        return choice

    def _load(
        self, paths: Sequence[Path], request: gr.Request, values: Sequence[Any]
    ) -> Generator[tuple[Any, ...], None, str | None]:
        """Load, and show how far it is; gives why that failed, if it did."""
        session = session_of(self._sessions, request)
        try:
            loading = session.start_loading(paths, self._choice(session, values))
        except RagNodesError as error:
            yield self._failed(session, str(error), session.report)
            return str(error)
        return (yield from self._look(session, loading))

    def _wait(
        self, session: PageSession, failure: str | None = None
    ) -> Generator[tuple[Any, ...], None, str | None]:
        """Look at loading for a question, and at any other that takes over, as a later upload."""
        seen = None
        while (loading := session.last_loading) is not None and loading is not seen:
            seen = loading
            failure = yield from self._look(session, loading)
        return failure

    def _look(
        self, session: PageSession, loading: Job[Steps, DocumentsReport] | None
    ) -> Generator[tuple[Any, ...], None, str | None]:
        """Show how far loading is, and what came of it; whoever stops looking ends nothing."""
        if loading is None:
            yield self._ended(session)
            return None
        for steps in loading.looks(TICK):
            at = now()
            if not loading.done:
                panel = status.working(steps or {}, session.wanted, loading.seconds)
                yield Drawn(at, (panel, *self._follower.meanwhile(), *_busy()))
        try:
            loading.result()
            ended = self._ended(session)
        except CancelledError:
            # Else another run took over, and shows its own progress.
            if session.last_loading in (None, loading):
                panel = status.cancelled(session.report)
                yield self._ended(session, panel, again=session.ready)
            return _CANCELLED
        except Exception as error:  # noqa: BLE001 - it is logged
            # Whatever it was, the visitor can go on.
            known = isinstance(error, RagNodesError)
            failure = str(error) if known else _FAULT.format(type(error).__name__)
            if not known:
                logger.error("documents could not be loaded\n%s", trace_of(error))  # noqa: TRY400 - its text may hold a key
            yield self._failed(session, failure, session.report if known else None)
            return failure
        yield ended
        return None

    def _failed(
        self, session: PageSession, failure: str, report: DocumentsReport | None
    ) -> tuple[Any, ...]:
        panel = status.failed(failure, report)
        return self._ended(session, panel, "Try again", again=True)

    def _ended(
        self,
        session: PageSession,
        panel: str | None = None,
        name: str = "Apply changes",
        *,
        again: bool = False,
    ) -> tuple[Any, ...]:
        """The page when nothing is loaded any more."""
        at = now()
        if panel is None:
            panel = status.lost() if session.is_lost else status.idle()
            if session.report:
                panel = status.done(session.report)
        button = gr.Button(name, interactive=again, variant="secondary")
        shown = panel, *self._follower.afterwards(session), button, gr.Button(visible=False)
        return Drawn(at, shown)


def _busy() -> tuple[gr.Button, gr.Button]:
    """Return the buttons that load again and that cancel, as they are while documents are loaded.

    Made for each event: a component made while this module is imported becomes part of the blocks
    that are open then.
    """
    again = gr.Button("Processing", interactive=False, variant="secondary")
    return again, gr.Button(visible=True)
