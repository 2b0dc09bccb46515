"""One OpenAI-compatible server: its client, its key, and its failures as our errors."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Self
from weakref import finalize

import httpx
import openai
from pydantic import SecretStr

from rag_nodes.errors import ConfigurationError, CredentialsError
from rag_nodes.models.faults import map_model_error
from rag_nodes.models.openai.client import ServerClient
from rag_nodes.models.public_servers import PublicTransport
from rag_nodes.settings import OPENAI_API_BASE, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LONGEST_CONNECT = 5.0
"""Seconds to reach a server before it counts as unreachable."""
NO_KEY = "none"
"""Sent to compatible servers that want no key; the client insists on one."""
_SHORTEST_SECRET = 6
"""Characters below which a key is a placeholder, and hiding it would only garble messages."""


class Connection:
    """Opens the client of one server and turns whatever goes wrong into our errors.

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
        headers: sent with every request; they may hold a key, and are kept as one.
    """

    def __init__(
        self,
        *,
        model: str,
        api_base: str | None,
        timeout: float,
        retry_seconds: float,
        public_only: bool = False,
        api_key: SecretStr | str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.model = model
        self.api_base = api_base
        self.timeout = timeout
        self.retry_seconds = retry_seconds
        self.public_only = public_only
        self._api_key = SecretStr(api_key) if isinstance(api_key, str) else api_key
        self._headers = headers
        self._client: ServerClient | None = None
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

    @property
    def place(self) -> str:
        """Where texts are sent, for display."""
        return self.api_base or "OpenAI"

    @property
    def here(self) -> str:
        """Model and address, for messages."""
        return f"{self.model} at {self.api_base or OPENAI_API_BASE}"

    @property
    def given_keys(self) -> dict[str, Any]:
        """The key and the headers as they were given, not those that the environment has."""
        return {"api_key": self._api_key, "default_headers": dict(self._headers or {})}

    @property
    def client(self) -> ServerClient:
        """The client, opened where it is first used.

        Raises:
            CredentialsError: OpenAI itself is to be asked and there is no key.
        """
        with self._lock:
            if self._client is None:
                self._client = self._open()
            return self._client

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Raise our errors for those of the client, of its transport, and of a strange answer.

        Raises:
            CredentialsError, ModelError: mapped by `map_model_error`.
            ConfigurationError: the server is not on the public internet and has to be.
        """
        faults = (openai.OpenAIError, httpx.HTTPError)
        # The rest is the client, or LlamaIndex, stumbling over an answer in another shape.
        strange = (ValueError, TypeError, AttributeError, IndexError)
        try:
            yield
        except ConfigurationError:
            raise
        except (*faults, *strange) as error:
            # The cause may quote the key.
            raise self._mapped(error) from None

    def _mapped(self, error: Exception) -> Exception:
        if isinstance(error.__cause__, ConfigurationError):  # wrapped by the client
            return error.__cause__
        # First, or what is quoted may end in the middle of a key that nobody recognises then.
        error.args = tuple(map(self._hidden, error.args))
        body = getattr(error, "body", None)
        if isinstance(body, dict) and "message" in body:
            body["message"] = self._hidden(body["message"])
        mapped = map_model_error(error, model=self.model, api_base=self.api_base)
        return type(mapped)(self._hidden(str(mapped)))

    def _hidden(self, text: Any) -> Any:
        """The text without the key and what the headers hold, which servers may repeat."""
        if not isinstance(text, str):
            return text
        key = self._api_key.get_secret_value() if self._api_key else ""
        for secret in (key, *(str(value) for value in (self._headers or {}).values())):
            for word in secret.split():
                if len(word) >= _SHORTEST_SECRET:
                    text = text.replace(word, "****")
        return text

    def _open(self) -> ServerClient:
        connect = min(_LONGEST_CONNECT, self.timeout)
        client = ServerClient(
            model=self.model,
            retry_seconds=self.retry_seconds,
            api_key=self._found_key(),
            base_url=self.api_base or OPENAI_API_BASE,
            timeout=openai.Timeout(self.timeout, connect=connect),
            default_headers=self._headers,
            # An address that was checked must not hand the key on to another one.
            http_client=openai.DefaultHttpxClient(
                follow_redirects=False,
                transport=self._transport(),
            ),
        )
        # Held by the finalizer, the client outlives this object just long enough to be closed.
        finalize(self, client.close)
        return client

    def _transport(self) -> Any:
        """What connects; None for the client's own."""
        return PublicTransport.of_httpx() if self.public_only else None

    def _found_key(self) -> str:
        self._api_key = self._api_key or _configured_key(self.api_base)
        if self._api_key is not None:
            return self._api_key.get_secret_value()
        if self.api_base in (None, OPENAI_API_BASE):
            raise CredentialsError(
                f"{self.here}: no key; set OPENAI_API_KEY or RAG_NODES_API_KEY, or use the offline "
                "models"
            )
        return NO_KEY


def _configured_key(api_base: str | None) -> SecretStr | None:
    """The key in the environment, provided it was set for this very address."""
    settings = Settings()
    return settings.api_key if settings.api_base == api_base else None
