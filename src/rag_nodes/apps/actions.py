"""Actions of the page: what each does in a session, and which parts of the page it changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr, ValidationError

from rag_nodes.apps.inside_gradio import is_uploaded
from rag_nodes.apps.panes import decision, pages, review, show_answers, top
from rag_nodes.apps.visitors.columns import ColumnsRequest
from rag_nodes.apps.visitors.turns import rate
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.numbers import number_in
from rag_nodes.evaluation.drafts.probes import ANSWER_LENGTHS
from rag_nodes.operations.fields import MOST_QUESTION
from rag_nodes.operations.workspace.limits import LARGEST
from rag_nodes.query.options import GRANULARITIES
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rag_nodes.apps.visitors.session import PageSession

Reply = dict[str, Any]
_MAX_TEXT = 20_000
"""Characters of one value that a page sends."""
_MAX_CHUNKS = 100
"""Largest number of chunks of a context, as of requests over REST."""
_MAX_OPTION = 1e6
"""Largest number that a slider may send."""


class Payload:
    """Values that a page sent with an action; a value of an unexpected type counts as unsent."""

    def __init__(self, sent: object) -> None:
        self._sent: Mapping[str, Any] = sent if isinstance(sent, dict) else {}

    def text(self, name: str) -> str:
        """Return a text; "" if there is none."""
        value = self._sent.get(name)
        return value[:_MAX_TEXT] if isinstance(value, str) else ""

    def number(self, name: str) -> int | None:
        """Return a number from 0 on; None if there is none."""
        value = self._sent.get(name)
        return number_in(value) if isinstance(value, str) else None

    def flag(self, name: str) -> bool:
        """Return True if something was ticked."""
        return self._sent.get(name) is True

    def paths(self) -> list[Path]:
        """Return the uploaded files.

        Raises:
            ConfigurationError: a path is not that of an upload.
        """
        sent = self._sent.get("paths")
        paths = [Path(path) for path in sent if isinstance(path, str) and "\0" not in path] if (
            isinstance(sent, list)) else []  # fmt: skip
        if not paths or not all(map(is_uploaded, paths)):
            raise ConfigurationError("Upload the file again: it is no longer on the server.")
        return paths

    def plain(self) -> Mapping[str, Any]:
        """Return everything that was sent."""
        return self._sent


def load(session: PageSession, paths: Sequence[Path] = ()) -> None:
    """Load documents, or the loaded ones again as it is chosen now."""
    if paths or session.wanted:
        session.start_loading(paths)
    top.show_columns(session)
    top.show_loading(session)
    pages.show_page(session)
    decision.show_decision(session)


def _remove(session: PageSession, sent: Payload) -> None:
    number = sent.number("number")
    kept = [path for at, path in enumerate(session.paths) if at != number]
    if kept:
        load(session, kept)


def _tick(session: PageSession, sent: Payload) -> None:
    session.columns.tick(sent.text("name"), is_ticked=sent.flag("checked"))
    _recolumned(session)


def _baseline(session: PageSession, sent: Payload) -> None:
    session.columns.compare_with(sent.text("value"))
    _recolumned(session)
    for turn in session.turns:
        show_answers(session, turn.number)


def _recolumned(session: PageSession) -> None:
    session.place = session.place._replace(strategy=None)
    if session.columns.ticked:
        load(session)
    else:
        top.show_columns(session)


def _choose(session: PageSession, sent: Payload) -> None:
    if sent.text("value") in session.columns.ticked:
        session.columns.chosen = sent.text("value")
        session.place = session.place._replace(strategy=None, chosen=None)
        top.show_columns(session)
        pages.show_page(session)


def _option(session: PageSession, sent: Payload) -> None:
    name = sent.text("column")
    try:
        value = float(sent.text("value"))
    except ValueError:
        return
    if name in session.columns.ticked and abs(value) < _MAX_OPTION:  # false for NaN as well
        session.columns.set_option(name, sent.text("name"), value)
        session.place = session.place._replace(strategy=None, chosen=None)
        session.preview(name)
        load(session)


def _context(session: PageSession, sent: Payload) -> None:
    kind, _, number = sent.text("value").partition(":")
    amount = number_in(number)
    if kind not in ("budget", "chunks") or not amount:
        return
    if amount > (most := LARGEST if kind == "budget" else _MAX_CHUNKS):
        raise ConfigurationError(f"The context is at most {most:,}; choose a smaller one.")
    chosen = {"budget": amount, "top_k": None} if kind == "budget" else {
        "budget": None, "top_k": amount, "granularity": "chunks"}  # fmt: skip
    _set_context(session, **chosen)


def _reading(session: PageSession, sent: Payload) -> None:
    if (reading := sent.text("value")) in GRANULARITIES:
        if session.context.top_k:
            raise ConfigurationError(
                "A number of chunks is read whole. Choose a context in tokens first."
            )
        _set_context(session, granularity=reading)


def _models(session: PageSession, sent: Payload) -> Reply:
    key = sent.text("api_key").strip()
    _set_context(
        session,
        embedding_model=sent.text("embedding_model"),
        llm_model=sent.text("llm_model"),
        retrieval_only=sent.flag("retrieval_only"),
        api_key=SecretStr(key) if key else session.context.api_key,
    )
    return {"said": "Models are set." if session.paths else "Models are set for your documents."}


def _set_context(session: PageSession, **chosen: Any) -> None:
    """Have other values in the context, checked like those of a request.

    Raises:
        ConfigurationError: a value is out of range.
    """
    kept = {name: getattr(session.context, name) for name in ColumnsRequest.model_fields}
    try:
        session.context = ColumnsRequest(**{**kept, **chosen})
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigurationError(f"{first['loc'][0]}: {first['msg']}") from None
    top.show_reading(session)
    load(session)


def _ask(session: PageSession, sent: Payload) -> None:
    question = sent.text("question").strip()
    if not question:
        raise ConfigurationError("Type a question first.")
    if len(question) > MOST_QUESTION:
        raise ConfigurationError(f"Ask in at most {MOST_QUESTION:,} characters.")
    session.talk.start(question, follow_up=sent.flag("follow_up"))


def _stop(session: PageSession, sent: Payload) -> None:
    turn, column = sent.number("turn"), sent.number("column")
    if turn and column:
        session.talk.stop_column(turn, column)
    else:
        session.talk.stop()


def _clear(session: PageSession, _: Payload) -> None:
    session.talk.clear()
    session.screen.clear("history")
    top.show_tally(session)
    top.show_loading(session)
    pages.show_page(session)


def _helpful(session: PageSession, sent: Payload) -> None:
    number, column = sent.number("turn") or 0, sent.number("column") or 0
    if rate(session.talk.turns, number, column, sent.text("verdict")):
        show_answers(session, number)
        top.show_tally(session)


def _open(session: PageSession, sent: Payload) -> None:
    turn, column = sent.number("turn") or 0, sent.number("column") or 0
    cited, rank = sent.number("cited") or 0, sent.number("rank") or 0
    start, end = sent.number("start"), sent.number("end")
    sentence = Span(start, end) if start is not None and end is not None else None
    pages.show_found(session, turn, column, cited=cited, rank=rank, sentence=sentence)


def _search(session: PageSession, sent: Payload) -> Reply:
    return {"found": pages.search(session, sent.text("words"))}


def _unmark(session: PageSession, sent: Payload) -> None:
    session.questions.unmark(sent.number("passage"))
    review.show_marked(session)


def _label(session: PageSession, sent: Payload) -> Reply:
    return {"said": review.label(session, sent.text("question"))}


def _length(session: PageSession, sent: Payload) -> None:
    chosen = sent.text("length")
    session.decider.length = next((length for length in ANSWER_LENGTHS if length == chosen),
                                  session.decider.length)  # fmt: skip
    session.decider.start()
    decision.show_decision(session)


def _line(session: PageSession, sent: Payload) -> None:
    verdict = session.decider.verdict
    place = decision.place_of(verdict, sent.number("number") or 0) if verdict else None
    if place:
        pages.show_page(session, place)


def _use(session: PageSession, sent: Payload) -> None:
    session.using = sent.text("value")
    decision.show_use(session)


def _script(session: PageSession, _: Payload) -> Reply:
    _spec, text, name = decision.exported(session)
    return {"file": {"name": name, "text": text}}


def _passage(session: PageSession, sent: Payload) -> None:
    answer, passage = sent.number("answer") or 0, sent.number("passage") or 0
    review.show_passage(session, sent.text("question"), answer, passage)


def _questions(session: PageSession, sent: Payload) -> None:
    for path in sent.paths():
        review.upload(session, path)


def _download(session: PageSession, _: Payload) -> Reply:
    return {"file": {"name": "questions.json", "text": review.download(session)}}


def _remove_all(session: PageSession, _: Payload) -> None:
    session.questions.clear()
    review.show_review(session)
    review.show_marked(session)


ACTIONS: dict[str, Callable[[PageSession, Payload], Reply | None]] = {
    "documents": lambda session, sent: load(session, [*session.wanted, *sent.paths()]),
    "remove": _remove,
    "cancel": lambda session, _: session.cancel(),
    "tick": _tick,
    "baseline": _baseline,
    "choose": _choose,
    "option": _option,
    "context": _context,
    "reading": _reading,
    "models": _models,
    "ask": _ask,
    "stop": _stop,
    "clear": _clear,
    "helpful": _helpful,
    "open": _open,
    "turn": lambda session, sent: pages.turn_page(
        session, step=1 if sent.text("step") == "1" else -1
    ),
    "page": lambda session, sent: pages.turn_page(session, page=sent.number("value") or 1),
    "chunk": lambda session, sent: pages.show_chunk(session, (sent.number("value") or 1) - 1),
    "place": lambda session, sent: pages.show_share(session, sent.number("share") or 0),
    "document": lambda session, sent: pages.show_document(session, sent.text("value")),
    "tint": lambda session, sent: pages.tint(session, sent.text("value")),
    "search": _search,
    "mark": lambda session, sent: review.mark(session, sent.plain()),
    "unmark": _unmark,
    "label": _label,
    "length": _length,
    "test": lambda session, _: session.decider.start(is_asked=True),
    "by_questions": lambda session, _: session.decider.start(is_asked=True, by_questions=True),
    "stop_test": lambda session, _: session.decider.stop(),
    "line": _line,
    "use": _use,
    "script": _script,
    "draft": lambda session, _: review.draft(session),
    "accept": lambda session, sent: review.accept(session, sent.text("id"), sent.text("question")),
    "reject": lambda session, sent: review.reject(session, sent.text("question")),
    "passage": _passage,
    "questions": _questions,
    "download": _download,
    "remove_all": _remove_all,
}
"""Functions by action; each may add to the reply: "notice", "said", "found", or "file"."""
