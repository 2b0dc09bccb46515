"""OpenAI's client, which LlamaIndex's classes ask, with all that concerns a single request.

Its own retries and LlamaIndex's are off: together they multiply, and a refused connection takes
minutes to show.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import openai

from rag_nodes.errors import ConfigurationError
from rag_nodes.models.faults import out_of_quota, retry_after
from rag_nodes.models.pacing import before_repeating, retried
from rag_nodes.processes import current_interrupt
from rag_nodes.text.tokens import encodable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openai._models import FinalRequestOptions

_TRANSIENT_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504})
_UNSUPPORTED = frozenset({"unsupported_parameter", "unsupported_value"})
"""Codes of the 400 that names one parameter a model does not take."""
_DISPENSABLE = frozenset({"temperature", "max_tokens", "max_completion_tokens"})
"""Parameters without which an answer is still the answer that was asked for."""

logger = logging.getLogger(__name__)


class ServerClient(openai.OpenAI):
    """Repeats what may pass, leaves out what the model refuses, sends only what UTF-8 can hold.

    Reasoning models, for one, take no temperature: a parameter that a server refuses by name is
    left out of this request and of all later ones.

    Args:
        model: its name, for the log.
        retry_seconds: seconds for which a failing request is repeated, see `retried`.
        options: of OpenAI's client.
    """

    def __init__(self, *, model: str, retry_seconds: float, **options: Any) -> None:
        super().__init__(**options, max_retries=0)
        self._model = model
        self._retry_seconds = retry_seconds
        self._refused: set[str] = set()

    def request(self, cast_to: Any, options: FinalRequestOptions, **kinds: Any) -> Any:
        """The response to one request, which all of the client's methods come down to.

        Raises:
            openai.OpenAIError: the last failure.
            CancelledError: whoever asks was ended before it was sent, see `interruptible`.
        """
        send = super().request
        body = _sendable(options.json_data)

        def attempt() -> Any:
            current_interrupt().check(f"asking {self._model}")  # nobody would see what was paid for
            options.json_data = sent = self._accepted(body)
            try:
                return send(cast_to, options, **kinds)
            except openai.BadRequestError as error:
                if not self._leave_out(error, sent):
                    raise
                before_repeating()
                return attempt()

        response = retried(
            attempt,
            seconds=self._retry_seconds,
            asked_to_wait=_asked_to_wait,
            on_wait=self._log_retry,
        )
        return _closing(response) if kinds.get("stream") else response

    def _accepted(self, body: Any) -> Any:
        """The body without what the model refuses; a limit it refuses under its old name renamed.

        OpenAI's newer models know only `max_completion_tokens`, most other servers only the first.
        """
        if not isinstance(body, dict) or not self._refused:
            return body
        renamed = {"max_completion_tokens": body.get("max_tokens"), **body}
        kept = {name: value for name, value in renamed.items() if name not in self._refused}
        return {name: value for name, value in kept.items() if value is not None}

    def _leave_out(self, error: openai.BadRequestError, sent: Any) -> bool:
        """Leave out what the server names, from now on; False where the request stays as it is.

        Requests that were under way at the same time are refused for the same parameter.
        """
        name = error.param
        if error.code not in _UNSUPPORTED or name not in _DISPENSABLE or name not in (sent or ()):
            return False
        self._refused.add(name)
        return True

    def _log_retry(self, error: Exception, wait: float) -> None:
        logger.warning("%s: %s; next attempt in %.1f s", self._model, type(error).__name__, wait)


def _closing(stream: openai.Stream[Any]) -> Iterator[Any]:
    """The events of a stream that ends with them, also where nobody reads to the end.

    A stream refers to itself, so the one nobody reads would hold its connection for a while.
    """
    with stream:
        yield from stream


def _sendable(value: Any) -> Any:
    """JSON with lone surrogates replaced, wherever they are."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {name: _sendable(item) for name, item in value.items()}
    return [_sendable(item) for item in value] if isinstance(value, list) else value


def _asked_to_wait(error: Exception) -> float | None:
    """Seconds after which the same request may succeed, 0 for soon; None where it never will."""
    if getattr(error, "status_code", None) in _TRANSIENT_STATUS:
        return None if out_of_quota(error) else retry_after(error) or 0.0
    if isinstance(error.__cause__, ConfigurationError):
        return None
    return 0.0 if isinstance(error, openai.APIConnectionError) else None
