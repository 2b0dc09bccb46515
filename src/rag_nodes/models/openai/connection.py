"""One OpenAI-compatible server: its client, its key, and the only layer that repeats requests.

The client's own retries and LlamaIndex's are both off or unused: together they multiply, and a
refused connection takes minutes to show.
"""

from __future__ import annotations

import logging
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import finalize

from rag_nodes.errors import ConfigurationError, CredentialsError, MissingExtraError
from rag_nodes.models.faults import map_model_error, out_of_quota, retry_after
from rag_nodes.models.pacing import before_repeating
from rag_nodes.models.public_servers import PublicTransport
from rag_nodes.models.retries import retried
from rag_nodes.settings import OPENAI_API_BASE, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    import openai
    from pydantic import SecretStr

Response = TypeVar("Response")

_LONGEST_CONNECT = 5.0
"""Seconds to reach a server before it counts as unreachable."""
_NO_KEY = "none"
"""Sent to compatible servers that want no key; the client insists on one."""
_SHORTEST_SECRET = 6
"""Characters below which a key is a placeholder, and hiding it would only garble messages."""
_TRANSIENT_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504})

logger = logging.getLogger(__name__)


class Connection:
    """Sends requests to one server and turns whatever goes wrong into our errors.

    The key is held here and nowhere else: it is in no repr and no pickle. A connection without one,
    such as one that comes out of a pickle, takes the key configured for the same address where
    it is first used. Used by many threads at once.

    Args:
        model: name of the model, for messages.
        api_base: None for OpenAI itself.
        timeout: seconds without a sign of life.
        retry_seconds: seconds for which a failing request is repeated, see `retried`.
        public_only: refuse a server that is not on the public internet, whenever it is connected
            to; for addresses that strangers type in.
        api_key: None for the configured one, or for a compatible server without keys.
    """

    def __init__(
        self,
        *,
        model: str,
        api_base: str | None,
        timeout: float,
        retry_seconds: float,
        public_only: bool = False,
        api_key: SecretStr | None = None,
    ) -> None:
        self.model = model
        self.api_base = api_base
        self.timeout = timeout
        self.retry_seconds = retry_seconds
        self.public_only = public_only
        self._api_key = api_key
        self._client: openai.OpenAI | None = None
        self._lock = Lock()

    def __repr__(self) -> str:
        """Model and address; never the key."""
        return f"{type(self).__name__}(model={self.model!r}, api_base={self.api_base!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copies of a model share its connection."""
        del memo
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Everything but the key and what cannot travel."""
        public = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return partial(type(self), **public), ()

    def call(self, send: Callable[[openai.OpenAI], Response]) -> Response:
        """The response of `send`, tried again while that may help and time is left.

        Args:
            send: makes one request with the client it is given.

        Raises:
            CredentialsError, ModelError: the last failure, mapped by `map_model_error`.
            ConfigurationError: the server is not on the public internet and has to be.
            MissingExtraError: the client is not installed.
        """
        require_openai()
        client, attempts = self._connected(), count()

        def request() -> Response:
            if next(attempts):
                before_repeating()
            return send(client)

        try:
            return retried(
                request,
                seconds=self.retry_seconds,
                asked_to_wait=_asked_to_wait,
                on_wait=self._log_retry,
            )
        except client_faults() as error:
            raise self.mapped(error) from None

    def mapped(self, error: Exception) -> Exception:
        """Our error for one of the client's; raise it `from None`, the cause may quote the key."""
        if isinstance(error.__cause__, ConfigurationError):  # wrapped by the client
            return error.__cause__
        mapped = map_model_error(error, model=self.model, api_base=self.api_base)
        key = self._api_key.get_secret_value() if self._api_key else ""
        if len(key) < _SHORTEST_SECRET:
            return mapped
        return type(mapped)(str(mapped).replace(key, "****"))

    def _connected(self) -> openai.OpenAI:
        with self._lock:
            if self._client is None:
                self._client = self._open()
            return self._client

    def _open(self) -> openai.OpenAI:
        import openai

        connect = min(_LONGEST_CONNECT, self.timeout)
        client = openai.OpenAI(
            api_key=self._found_key(),
            base_url=self.api_base or OPENAI_API_BASE,
            timeout=openai.Timeout(self.timeout, connect=connect),
            max_retries=0,
            # An address that was checked must not hand the key on to another one.
            http_client=openai.DefaultHttpxClient(
                follow_redirects=False, transport=self._transport()
            ),
        )
        # Held by the finalizer, the client outlives this object just long enough to be closed.
        finalize(self, client.close)
        return client

    def _transport(self) -> Any:
        """What connects; None for the client's own."""
        return PublicTransport.of(_http_library()) if self.public_only else None

    def _found_key(self) -> str:
        self._api_key = self._api_key or _configured_key(self.api_base)
        if self._api_key is not None:
            return self._api_key.get_secret_value()
        if self.api_base in (None, OPENAI_API_BASE):
            raise CredentialsError(
                f"{self.model} at {OPENAI_API_BASE}: no key; set OPENAI_API_KEY or "
                "RAG_NODES_API_KEY, or use the offline models"
            )
        return _NO_KEY

    def _log_retry(self, error: Exception, wait: float) -> None:
        logger.warning("%s: %s; next attempt in %.1f s", self.model, type(error).__name__, wait)


def require_openai() -> None:
    """Check that the client is installed, without paying for its import.

    Raises:
        MissingExtraError: it is not.
    """
    if find_spec("openai") is None:
        raise MissingExtraError("openai", "openai")


def client_faults() -> tuple[type[Exception], ...]:
    """What a request through the client may raise: its own errors and those of its transport.

    The transport is httpx up to version 2 of the client and httpx2 from version 3 on. The last
    three are the client stumbling over a response in another shape.
    """
    import openai

    transport = import_module(_http_library())
    return (openai.OpenAIError, transport.HTTPError, ValueError, TypeError, AttributeError)


def _http_library() -> str:
    """Name of the library that the client sends its requests with."""
    import openai

    # The client renames the module of what it exports, but not that of its methods.
    return str(openai.Timeout.__init__.__module__.partition(".")[0])


def _configured_key(api_base: str | None) -> SecretStr | None:
    """The key in the environment, provided it was set for this very address."""
    settings = Settings()
    return settings.api_key if settings.api_base == api_base else None


def _asked_to_wait(error: Exception) -> float | None:
    """Seconds after which the same request may succeed, 0 for soon; None where it never will."""
    if getattr(error, "status_code", None) in _TRANSIENT_STATUS:
        return None if out_of_quota(error) else retry_after(error) or 0.0
    if isinstance(error.__cause__, ConfigurationError):
        return None
    return 0.0 if type(error).__name__ in {"APIConnectionError", "APITimeoutError"} else None
