"""Additions to LlamaIndex's OpenAI classes: one layer of retries, limits, a separate key.

Its own retries and LlamaIndex's are off: together they multiply, and a refused connection takes
minutes to show.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn, Self
from weakref import finalize, ref

import httpx
import openai
from pydantic import BaseModel, Field, PrivateAttr, SecretStr

from rag_nodes.core.errors import SET_KEY, CredentialsError, RagNodesError
from rag_nodes.core.network import usual_certificates
from rag_nodes.core.processes import current_interrupt
from rag_nodes.core.settings import OPENAI_API_BASE, Settings
from rag_nodes.models.faults import failure_of, out_of_quota
from rag_nodes.models.pacing import RequestWindow, retried
from rag_nodes.text.tokens import encodable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openai._models import FinalRequestOptions

_LONGEST_CONNECT = 5.0
"""Seconds to reach a server before it counts as unreachable."""
_NO_KEY = "none"
"""Sent to compatible servers that want no key; the client insists on one."""
_UNSUPPORTED = frozenset({"unsupported_parameter", "unsupported_value"})
"""Codes of the 400 that names one parameter a model does not take."""
_DISPENSABLE = frozenset({"temperature", "max_tokens", "max_completion_tokens"})
"""Parameters without which an answer is still the answer that was asked for."""
BUILDING = Lock()
"""Held while an answer becomes an object. The client builds the classes of answers when the first
one arrives, and a thread that finds one half built loses an answer that was paid for."""
_LONGEST_ERROR = 64 * 1024
"""Bytes of a body that is looked through for an error; vectors are longer."""
_ERRORS = range(400, 600)
_STRANGE = (ValueError, TypeError, AttributeError, IndexError)
"""Raised where the client, or LlamaIndex, stumbles over an answer in another shape."""


class ServerClient(openai.OpenAI):
    """Repeats what may pass, leaves out what the model refuses, sends only what UTF-8 can hold.

    Reasoning models, for one, take no temperature: a parameter that a server refuses by name is
    left out of this request and of all later ones.

    Args:
        model: its name, for the log.
        retry_seconds: seconds for which a failing request is repeated, see `retried`.
        before_repeating: called before each request that nobody but this knows of.
        options: of OpenAI's client.
    """

    def __init__(
        self,
        *,
        model: str,
        retry_seconds: float,
        before_repeating: Callable[[], None] = lambda: None,
        **options: Any,
    ) -> None:
        super().__init__(**options, max_retries=0)
        self._before_repeating = before_repeating
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
        options.follow_redirects = False  # they might hand key and headers to another server

        def attempt() -> Any:
            current_interrupt().check(f"asking {self._model}")  # nobody would see what was paid for
            options.json_data = sent = self._accepted(body)
            try:
                return send(cast_to, options, **kinds)
            except openai.BadRequestError as error:
                if not self._leave_out(error, sent):
                    raise
                self._before_repeating()
                return attempt()

        how = self._retry_seconds, self._asked_to_wait, self._before_repeating
        response = retried(attempt, *how, name=self._model)
        return _closing(response) if kinds.get("stream") else response

    def _process_response(self, *, response: httpx.Response, **kinds: Any) -> Any:
        """Some servers answer with HTTP 200 and the error in the body."""
        if "json" in response.headers.get("content-type", ""):
            content = response.read()
            if len(content) <= _LONGEST_ERROR and (error := _error_in(content)) is not None:
                raise self._make_status_error_from_response(_refused(response, error))
        return super()._process_response(response=response, **kinds)

    def _process_response_data(self, **answer: Any) -> Any:
        with BUILDING:
            return super()._process_response_data(**answer)

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

    def _asked_to_wait(self, error: Exception) -> float | None:
        """Seconds after which the request may succeed, 0 for soon; None where it never will."""
        if isinstance(error, openai.APIStatusError):
            if out_of_quota(error) or not self._should_retry(error.response):
                return None
            return max(0.0, self._parse_retry_after_header(error.response.headers) or 0.0)
        return 0.0 if isinstance(error, openai.APIConnectionError) else None


def _error_in(content: bytes) -> Any:
    """Return the error that stands in a body instead of an answer; None if there is none."""
    try:
        body = json.loads(content)
    except ValueError:
        return None
    is_error = isinstance(body, dict) and not {"choices", "data"} & body.keys()
    return (body.get("error") or None) if is_error else None


def _refused(response: httpx.Response, error: Any) -> httpx.Response:
    """Return the response that a server sends with the status of an error, if it says which."""
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and code in _ERRORS else HTTPStatus.BAD_REQUEST
    body = {"error": error if isinstance(error, dict) else {"message": str(error)}}
    asked = {k: v for k, v in response.headers.items() if k.lower() == "retry-after"}
    return httpx.Response(status, headers=asked, json=body, request=response.request)


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


class ServerModel(BaseModel):
    """A model of OpenAI or of a compatible server; what its embeddings and its LLMs share.

    Key and headers are in no `repr` or `to_dict()`. A pickle holds them, as another process needs
    them: it is as secret as they are. Used by many threads at once. LlamaIndex's `max_retries` is
    0, since all repeating is done by `retry_seconds`.

    Args:
        api_key: None for the configured one, or for a server without keys.
        api_base: None for OpenAI itself.
        default_headers: sent with every request; kept like the key.
        timeout: seconds without a sign of life.
        retry_seconds: seconds for which a failing request is repeated; 0 for one attempt.
        requests_per_minute: started in any minute at most; None for no limit.
        tokens_per_minute: of the requests of any minute at most, as they are counted here; the
            longest answer of an LLM counts as well.
        http_client: connects to the server; None for a client of its own.
    """

    api_key: str | None = Field(default=None, exclude=True, repr=False)
    api_base: str | None = None
    default_headers: dict[str, str] | None = Field(default=None, exclude=True, repr=False)
    timeout: float = Field(default=60.0, gt=0)
    retry_seconds: float = Field(default=10.0, ge=0)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: int | None = Field(default=None, gt=0)
    _window: RequestWindow | None = PrivateAttr(default=None)
    _opening: Lock = PrivateAttr(default_factory=Lock)
    _client: ServerClient | None = PrivateAttr(default=None)
    _http_client: httpx.Client | None = PrivateAttr(default=None)

    def __init__(
        self,
        *,
        api_key: SecretStr | str | None = None,
        api_base: str | None = None,
        **values: Any,
    ) -> None:
        # LlamaIndex looks for missing options in the environment. All repeating is done by
        # the client.
        options = {"api_key": _NO_KEY, "api_base": api_base or OPENAI_API_BASE, "max_retries": 0}
        super().__init__(**{**values, **options})
        self.api_key = api_key.get_secret_value() if isinstance(api_key, SecretStr) else api_key
        self.api_base = api_base
        limits = self.requests_per_minute, self.tokens_per_minute
        if any(limits):
            self._window = RequestWindow(limits[0], tokens_per_minute=limits[1])

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self.model_copy()  # which shares the client

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuilt from its options, key and headers; callbacks stay in this process."""
        options = {name: it for name, it in vars(self).items() if name != "callback_manager"}
        return partial(type(self), **options, http_client=self._http_client), ()

    @property
    def place(self) -> str:
        """Return where texts are sent, for display."""
        return self.api_base or "OpenAI"

    @property
    def _asked_for(self) -> str:
        """The model's name, as the server knows it."""
        raise NotImplementedError

    @property
    def _here(self) -> str:
        """Model and address, for messages."""
        return f"{self._asked_for} at {self.api_base or OPENAI_API_BASE}"

    def _get_client(self) -> ServerClient:
        """The client, opened where it is first used.

        Raises:
            CredentialsError: OpenAI itself is to be asked and there is no key.
        """
        window, me = self._window, ref(self)  # which is not kept by its client

        def wait() -> None:
            for limit in filter(None, (window, getattr(me(), "rate_limiter", None))):
                limit.acquire()

        with self._opening:
            if self._client is None:
                if self.api_key is None:
                    self.api_key = self._configured_key()
                connect = min(_LONGEST_CONNECT, self.timeout)
                self._client = ServerClient(
                    model=self._asked_for,
                    retry_seconds=self.retry_seconds,
                    before_repeating=wait,
                    api_key=self.api_key or _NO_KEY,
                    base_url=self.api_base or OPENAI_API_BASE,
                    timeout=openai.Timeout(self.timeout, connect=connect),
                    default_headers=self.default_headers,
                    http_client=self._http_client
                    or openai.DefaultHttpxClient(verify=usual_certificates()),
                )
                # Copies share the lock too, so it is closed when the last of them is gone.
                finalize(self._opening, self._client.close)
            return self._client

    def _get_aclient(self) -> NoReturn:
        raise NotImplementedError("async calls run in threads, with the one client there is")

    def _configured_key(self) -> str | None:
        """The key that was configured for this very address; None for a server without keys."""
        settings = Settings()
        if settings.api_base == self.api_base and settings.api_key:
            return settings.api_key.get_secret_value()
        if self.api_base not in (None, OPENAI_API_BASE):
            return None
        raise CredentialsError(f"{self._here}: no key; {SET_KEY}, or use the offline models")

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Raise our errors for those of the client, of its transport, and of a strange answer."""
        try:
            yield
        except RagNodesError:
            raise
        except (openai.OpenAIError, httpx.HTTPError, httpx.InvalidURL, *_STRANGE) as error:
            # The cause may quote the key.
            raise failure_of(error, self, name=self._asked_for) from None
