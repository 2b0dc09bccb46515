"""REST requests made whole, the work for them, and what visitors may see of the results."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from rag_nodes.core.errors import ConfigurationError, SessionEndedError
from rag_nodes.operations.base import model_for
from rag_nodes.operations.places import text_document
from rag_nodes.operations.run import Run
from rag_nodes.operations.workspace.session import Session
from rag_nodes.operations.workspace.sessions import Sessions
from rag_nodes.server.limits import Workers
from rag_nodes.server.messages import clean, misfits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rag_nodes.core.settings import Settings
    from rag_nodes.operations import Operation
    from rag_nodes.operations.base import Request
    from rag_nodes.parsers import Preset
    from rag_nodes.server.limits import ServerLimits


@dataclass(frozen=True, slots=True)
class ServedOperations:
    """One server as its surfaces see it.

    Attributes:
        settings: models, store and corpus.
        offer: parsers that may be named.
        sessions: of the visitors of REST.
        workers: threads for what blocks.
        limits: how much one request may bring.
    """

    settings: Settings
    offer: Mapping[str, Preset]
    sessions: Sessions[Session]
    workers: Workers
    limits: ServerLimits

    @classmethod
    def of(
        cls, settings: Settings, offer: Mapping[str, Preset], limits: ServerLimits
    ) -> ServedOperations:
        """A server that nobody has asked yet."""
        sessions = Sessions(
            partial(Session, settings), idle_seconds=limits.idle_seconds, most=limits.sessions
        )
        return cls(settings, offer, sessions, Workers(limits), limits)

    def perform(
        self,
        operation: Operation,
        asked: Request,
        emit: Callable[[object], None],
        session: Session | None = None,
    ) -> dict[str, Any]:
        """Do it, and give back what a visitor may see of the result.

        Args:
            operation: what is asked for.
            asked: the request; a text in it takes the place of the session's documents.
            emit: hears of every event, from any thread.
            session: the visitor's; None for one that is gone afterwards.

        Raises:
            CancelledError: the visitor has left; see `interruptible`.
            RagNodesError: what the operation raises.
        """
        with ExitStack() as held:
            text = getattr(asked, "text", None)
            if session is None or text is not None:
                session = held.enter_context(Session(self.settings))
                session.take([text_document(text)] if text is not None else [], most=1)
            held.enter_context(session.turn())
            run = Run(self.settings, emit, session=session, offer=self.offer)
            held.callback(run.close)
            run.tell(asked)
            result = operation.function(asked, run)
            return seen(operation, result.as_dict())

    def known(self, key: str | None) -> str:
        """The id of a session, if it is one that we gave out.

        Raises:
            SessionEndedError: it is missing, has ended, or never was.
        """
        if key is None or key not in self.sessions:
            raise SessionEndedError(
                "no such session, or it has ended; POST documents to /api/upload first"
            )
        return key

    @contextmanager
    def held(self, key: str | None) -> Iterator[Callable[[], tuple[str, Session]]]:
        """Gives id and session once a body has arrived; a new one where none is named.

        A named one is held from the beginning, so that it neither makes room meanwhile nor comes
        back once it was cleared. A new one is made only then, for who sends no body needs none.

        Raises:
            SessionEndedError: see `known`.
        """
        with ExitStack() as stack:

            def hold(name: str) -> tuple[str, Session]:
                return name, stack.enter_context(self.sessions.holding(name))

            named = None if key is None else hold(self.known(key))
            yield lambda: named or hold(secrets.token_urlsafe(24))


def request_of(operation: Operation, given: Mapping[str, Any]) -> Request:
    """The whole request, as the operation takes it, of what was sent.

    Raises:
        ConfigurationError: a field is not of REST or out of its bounds, or several contradict
            each other.
    """
    try:
        whole = json.loads(json.dumps(given), parse_float=_whole)
        model = model_for(operation.request)
        taken = model.model_validate_json(json.dumps(whole), strict=True)
        return operation.request.model_validate(taken.model_dump(exclude_unset=True))
    except ValidationError as error:
        faults = misfits(error.errors(include_url=False, include_input=False))
        raise ConfigurationError(f"{faults}; correct the request and send it again") from None


def _whole(written: str) -> float:
    """A number of JSON; 500.0 is an integer there."""
    number = float(written)
    return int(number) if number.is_integer() else number


def seen(operation: Operation, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a visitor may see of a result: the fields of its reply, no server path."""
    reply = model_for(operation.reply).model_validate(data).model_dump(mode="json")
    cleaned: dict[str, Any] = clean(reply)
    return cleaned


class Milestones:
    """Passes on the steps worth a message: where a row begins, and every hundredth of the way.

    Args:
        tell: hears of them, and of every other event.
    """

    def __init__(self, tell: Callable[[object], None]) -> None:
        self._tell = tell
        self._last: object = None

    def __call__(self, event: Any) -> None:
        """Pass an event on, unless hardly anything has changed."""
        if hasattr(event, "done"):
            total = event.total
            reached = (event.stage, event.name, 100 * event.done // total if total else 0)
            if reached == self._last:
                return
            self._last = reached
        self._tell(event)
