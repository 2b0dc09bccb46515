"""What happens with labelled questions: they are taken, a run is started and stopped, and read."""

from __future__ import annotations

import logging
import queue
import re

# At runtime, since Gradio evaluates the annotations of its events.
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.inside_gradio import offer
from rag_nodes.apps.sent import number_in, texts_of
from rag_nodes.apps.tabs.chunks.events import ChunkLocation
from rag_nodes.apps.tabs.evaluate.asked import asked, refused
from rag_nodes.apps.tabs.evaluate.matrix import AnswerPlace, cell_at, explained, link_to
from rag_nodes.apps.tabs.evaluate.verdict import EMPTY, downloads_named, verdict, working
from rag_nodes.apps.view.html import Html, join
from rag_nodes.apps.view.parts import notice, title_of
from rag_nodes.apps.visitors.cuts import span_of
from rag_nodes.apps.visitors.questions import read_questions
from rag_nodes.apps.visitors.requests import cuts_of, session_of
from rag_nodes.errors import (
    CancelledError,
    ConfigurationError,
    RagNodesError,
)
from rag_nodes.evaluation.plan import EvaluationPlan

if TYPE_CHECKING:
    from rag_nodes.apps.tabs.chunks.events import ChunksEvents
    from rag_nodes.apps.visitors.cuts import Cuts
    from rag_nodes.apps.visitors.evaluating import Verdict
    from rag_nodes.apps.visitors.session import PageSession, PageSessions
    from rag_nodes.evaluation.plan import Step

logger = logging.getLogger(__name__)

_TICK = 0.3
"""Seconds between two looks at a run."""
_FAULT = "stopped by a fault of the app ({}); whoever runs it finds the reason in its log"
_NUMBERS = re.compile(r"[,;\s]+")
STALE = "This verdict is gone: start the evaluation again."


class VerdictEvents:
    """What the events do.

    Args:
        sessions: where each visitor's work is.
        chunks: draws the place that was chosen here.
        example: the example document; None where none is offered.
    """

    def __init__(self, sessions: PageSessions, chunks: ChunksEvents, example: Path | None) -> None:
        self._sessions = sessions
        self._chunks = chunks
        self._example = example

    def refresh(self, request: gr.Request) -> tuple[Any, ...]:
        """What is asked, and the last verdict while it is one about the loaded documents.

        Returns:
            Questions, button of the example's questions, button that starts, verdict, explanation,
            downloads.
        """
        session = session_of(self._sessions, request)
        given = self._given(session)
        example = gr.Button(visible=given is not None)
        run = gr.Button(interactive=bool(len(session.questions)))
        if session.evaluator.running:  # it writes what it finds itself
            return (asked(session.questions.dataset), example, *(gr.skip(),) * 4)
        found = session.evaluator.verdict
        return (
            asked(session.questions.dataset),
            example,
            run,
            _shown(session, found) if found else EMPTY,
            "" if found is None else gr.skip(),
            gr.Row(visible=found is not None),
        )

    def upload(self, file: str | None, request: gr.Request) -> tuple[Any, Any]:
        """Add the questions of a file to those there are.

        Returns:
            Questions, and the button that starts.
        """
        return self._take(Path(file) if file else None, request)

    def use_example(self, request: gr.Request) -> tuple[Any, Any]:
        """Add the questions of the example document."""
        return self._take(self._given(session_of(self._sessions, request)), request)

    def run(
        self, budgets: str, sizes: str, equal: float | None, request: gr.Request
    ) -> Iterator[tuple[Any, ...]]:
        """Evaluate, and show how far it is.

        Yields:
            Verdict, explanation, button that starts, button that stops, downloads.
        """
        session = session_of(self._sessions, request)
        busy = (gr.Button("Evaluating", interactive=False), gr.Button(visible=True))
        idle = (gr.Button("Evaluate", interactive=True), gr.Button(visible=False))
        try:
            plan = _plan(budgets, sizes, equal)
            for step in _steps(session, plan):
                yield working(step), "", *busy, gr.Row(visible=False)
            panel = self._panel(session, None)
        except CancelledError:
            panel = self._panel(session, notice("info", "Stopped. Nothing was kept of this run."))
        except RagNodesError as error:
            panel = self._panel(session, notice("error", str(error)))
        except Exception as error:
            logger.exception("an evaluation failed")
            panel = self._panel(session, notice("error", _FAULT.format(type(error).__name__)))
        done = gr.Row(visible=session.evaluator.verdict is not None)
        yield panel, "", *idle, done

    def stop(self, request: gr.Request) -> None:
        """End the run; the verdict before it stays."""
        session_of(self._sessions, request).evaluator.stop()

    def explain(self, request: gr.Request, event: gr.EventData) -> Html:
        """Why a question came out as it did in a column."""
        session, sent = session_of(self._sessions, request), texts_of(event)
        found, question = session.evaluator.verdict, number_in(sent.get("question"))
        row = number_in(sent.get("row"))
        if found is None or question is None or row is None:
            return notice("warning", STALE)
        cell = cell_at(found.report, question, row)
        if cell is None:
            return notice("warning", STALE)
        strategy = _strategies(session.cuts).get(cell[1].column)
        first = cell[0]["gold"][0][0]
        link = Html("")
        if strategy is not None and session.cuts is not None:
            drawn = session.cuts.comparison.parsers[strategy].fingerprint
            link = link_to(
                AnswerPlace(strategy, first["document"], first["start"]),
                cell[1].column,
                same=cell[1].parser.get("fingerprint") == drawn,
            )
        return explained(found.report, cell[0], cell[1], link)

    def open(self, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        """The place of an answer, in the tab that draws chunks."""
        cuts, sent = cuts_of(self._sessions, request), texts_of(event)
        strategy, document = sent.get("strategy", ""), sent.get("document", "")
        start = number_in(sent.get("start"))
        if cuts is None or start is None:
            return self._chunks.open(None, request)
        if strategy not in cuts.strategies or document not in cuts.documents:
            return self._chunks.open(None, request)
        try:
            chosen = _chunk_at(cuts, strategy, document, start)
        except RagNodesError:  # the view says what is wrong with the store
            chosen = None
        return self._chunks.open(ChunkLocation(strategy, document, chosen=chosen), request)

    def save(self, kind: str, content: Callable[[Verdict], bytes]) -> Callable[[gr.Request], str]:
        """An event that makes a file of the verdict.

        Args:
            kind: ending of its name.
            content: of the file.
        """

        def save(request: gr.Request) -> str:
            found = session_of(self._sessions, request).evaluator.verdict
            if found is None:
                raise gr.Error(STALE, print_exception=False)
            return offer(content(found), f"{downloads_named(found.report)}.{kind}")

        return save

    def _given(self, session: PageSession) -> Path | None:
        """The questions that come with the example document, where that is loaded."""
        if self._example is None or self._example not in session.paths:
            return None
        questions = self._example.with_name("ferry_questions.csv")
        return questions if questions.is_file() else None

    def _take(self, path: Path | None, request: gr.Request) -> tuple[Any, Any]:
        session = session_of(self._sessions, request)
        if path is None:
            return gr.skip(), gr.skip()
        try:
            session.questions.take(read_questions(path, session.documents))
        except RagNodesError as error:
            # Not the whole path: it is one of the server.
            said = refused(str(error).replace(str(path), path.name))
        except Exception as error:
            logger.exception("questions could not be read")
            said = refused(_FAULT.format(type(error).__name__))
        else:
            taken = asked(session.questions.dataset)
            return taken, gr.Button(interactive=bool(len(session.questions)))
        return join([said, asked(session.questions.dataset)]), gr.skip()

    def _panel(self, session: PageSession, said: Html | None) -> Html:
        found = session.evaluator.verdict
        return join([said, _shown(session, found) if found else (EMPTY if said is None else None)])


def _steps(session: PageSession, plan: EvaluationPlan) -> Iterator[Step | None]:
    """Evaluate in another thread, and give the latest step now and then.

    Raises:
        RagNodesError: what `Evaluator.run` raised.
    """
    cuts, dataset = session.cuts, session.questions.dataset
    if cuts is None or dataset is None:
        raise ConfigurationError("no questions yet; load documents, then upload questions")
    if {one.id_ for one in dataset.documents} != set(cuts.documents):
        raise ConfigurationError(
            "other documents were loaded meanwhile; upload the questions again"
        )
    options = cuts.comparison.options
    plan = EvaluationPlan(
        budgets=plan.budgets,
        sizes=plan.sizes,
        target=plan.target,
        options=replace(options, top_k=None, budget=plan.budget, filter=None),
    )
    steps: queue.SimpleQueue[Step] = queue.SimpleQueue()
    latest: Step | None = None
    yield None
    with ThreadPoolExecutor(1, thread_name_prefix="evaluate") as pool:
        running = pool.submit(
            session.evaluator.run, dataset, _columns(cuts), cuts.comparison.models, plan, steps.put
        )
        try:
            while not running.done():
                latest = _latest(steps, latest)
                yield latest
        except GeneratorExit:  # nobody looks any longer
            session.evaluator.stop()
            raise
        running.result()


def _latest(steps: queue.SimpleQueue[Step], before: Step | None) -> Step | None:
    """The last of the steps that are there, after a while without one."""
    try:
        before = steps.get(timeout=_TICK)
        while True:
            before = steps.get_nowait()
    except queue.Empty:
        return before


def _plan(budgets: str, sizes: str, equal: float | None) -> EvaluationPlan:
    return EvaluationPlan(
        budgets=_numbers("Budgets", budgets),
        sizes=_numbers("Sizes", sizes),
        target=int(equal or 0) or None,
    )


def _numbers(name: str, text: str) -> tuple[int, ...]:
    """Different numbers above 0, smallest first.

    Raises:
        ConfigurationError: one is no number.
    """
    parts = [one for one in _NUMBERS.split(text or "") if one]
    numbers = [number_in(one) for one in parts]
    if None in numbers:
        raise ConfigurationError(f"{name} must be numbers with commas, such as 500, 1000, 2000")
    return tuple(sorted({one for one in numbers if one}))


def _columns(cuts: Cuts) -> dict[str, object]:
    """What is compared, by what people call it; parsers at sizes of their own.

    The evaluation compares at an equal size by itself, beside them.
    """
    compared = cuts.comparison
    parsers = {name: compared.given[one] for name, one in _strategies(cuts).items()}
    return {**parsers, **compared.found}


def _strategies(cuts: Cuts | None) -> dict[str, str]:
    """What people call a parser, to its name in the comparison; unlike ones keep unlike names."""
    named: dict[str, str] = {}
    for one in cuts.strategies if cuts else ():
        title = title_of(one)
        named[one if title in named else title] = one
    return named


def _shown(session: PageSession, found: Verdict) -> Html:
    return verdict(found.report, _strategies(session.cuts))


def _chunk_at(cuts: Cuts, strategy: str, document: str, start: int) -> int | None:
    """The first chunk that holds a character or comes after it; None without one."""
    nodes = cuts.nodes(strategy, document)
    return next((at for at, node in enumerate(nodes) if span_of(node).end > start), None)
