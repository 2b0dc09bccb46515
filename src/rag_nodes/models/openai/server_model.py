"""What LlamaIndex's two OpenAI classes lack: the key kept apart, limits, one client, our errors."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn, Self
from weakref import finalize

import httpx
import openai
from pydantic import BaseModel, Field, PrivateAttr, SecretStr

from rag_nodes.errors import ConfigurationError, CredentialsError
from rag_nodes.models.faults import map_model_error
from rag_nodes.models.openai.client import ServerClient
from rag_nodes.models.pacing import RequestWindow
from rag_nodes.models.public_servers import PublicTransport
from rag_nodes.settings import OPENAI_API_BASE, Settings, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LONGEST_CONNECT = 5.0
"""Seconds to reach a server before it counts as unreachable."""
_NO_KEY = "none"
"""Sent to compatible servers that want no key; the client insists on one."""
_FAULTS = (openai.OpenAIError, httpx.HTTPError)
_STRANGE = (ValueError, TypeError, AttributeError, IndexError)
"""Raised where the client, or LlamaIndex, stumbles over an answer in another shape."""


class Credentials:
    """Key, headers and client of one server: in no repr, shared by copies of a model.

    Args:
        key: None for the configured one, or for a compatible server without keys.
        headers: sent with every request; they may hold a key, and are kept as one.
    """

    def __init__(
        self, key: SecretStr | str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self.key = SecretStr(key) if isinstance(key, str) else key
        self.headers = dict(headers or {})
        self.client: ServerClient | None = None
        self.lock = Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copies of a model share it."""
        del memo
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Key and headers, which a worker needs; the client is opened where it is used."""
        return type(self), (self.key, self.headers)

    def hidden(self, text: Any) -> Any:
        """A text without the key and what the headers hold, which servers may repeat."""
        key = self.key.get_secret_value() if self.key else ""
        words = " ".join([key, *map(str, self.headers.values())]).split()
        secrets = {f"key {number}": word for number, word in enumerate(words)}
        return without_secrets(text, secrets) if isinstance(text, str) else text


class ServerModel(BaseModel):
    """A model of OpenAI or of a compatible server; what its embeddings and its LLMs share.

    The key is in no field, `repr` or `to_dict()`. A pickle holds it, as another process needs it:
    it is as secret as the key. Used by many threads at once.
    """

    api_key: str | None = Field(default=None, exclude=True, repr=False)
    api_base: str | None = None
    default_headers: dict[str, str] | None = Field(default=None, exclude=True, repr=False)
    timeout: float = Field(default=60.0, gt=0)
    retry_seconds: float = Field(default=10.0, ge=0)
    public_only: bool = False
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: int | None = Field(default=None, gt=0)
    _credentials: Credentials = PrivateAttr(default_factory=Credentials)
    _window: RequestWindow | None = PrivateAttr(default=None)

    def __init__(
        self,
        *,
        api_key: SecretStr | str | None = None,
        api_base: str | None = None,
        default_headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> None:
        # What LlamaIndex is not told, it looks for in the environment, and shows in its repr. All
        # repeating is done by the client.
        told = {"api_key": _NO_KEY, "api_base": api_base or OPENAI_API_BASE, "max_retries": 0}
        super().__init__(**{**values, **told})
        self.api_key, self.api_base = None, api_base
        self._credentials = Credentials(api_key, default_headers)
        self._window = RequestWindow.of(self.requests_per_minute, self.tokens_per_minute)

    def __reduce__(self) -> tuple[Any, ...]:
        """Made anew of its options, key and headers; callbacks stay in this process."""
        options = dict(self.__dict__)
        del options["callback_manager"]
        return _made, (type(self), options, self._credentials)

    @property
    def place(self) -> str:
        """Where texts are sent, for display."""
        return self.api_base or "OpenAI"

    @property
    def given_keys(self) -> dict[str, Any]:
        """Key and headers it was made with."""
        return {"api_key": self._credentials.key, "default_headers": self._credentials.headers}

    def begin_spent(self) -> None:
        """Ask nothing for a minute where requests are limited: another may have had it all."""
        if self._window:
            self._window.spend()

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
        access = self._credentials
        with access.lock:
            if access.client is None:
                access.client = self._opened()
                # Held by the finalizer, the client lives just long enough to be closed.
                finalize(access, access.client.close)
            return access.client

    def _get_aclient(self) -> NoReturn:
        raise NotImplementedError("async calls run in threads, with the one client there is")

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Raise our errors for those of the client, of its transport, and of a strange answer.

        Raises:
            CredentialsError, ModelError: mapped by `map_model_error`.
            ConfigurationError: the server is not on the public internet and has to be.
        """
        try:
            yield
        except ConfigurationError:
            raise
        except (*_FAULTS, *_STRANGE) as error:
            # The cause may quote the key.
            raise self._mapped(error) from None

    def _mapped(self, error: Exception) -> Exception:
        if isinstance(error.__cause__, ConfigurationError):  # wrapped by the client
            return error.__cause__
        hidden = self._credentials.hidden
        # First, or what is quoted may end in the middle of a key that nobody recognises then.
        error.args = tuple(map(hidden, error.args))
        body = getattr(error, "body", None)
        if isinstance(body, dict) and "message" in body:
            body["message"] = hidden(body["message"])
        mapped = map_model_error(error, model=self._asked_for, api_base=self.api_base)
        return type(mapped)(hidden(str(mapped)))

    def _opened(self) -> ServerClient:
        transport: Any = PublicTransport.of_httpx() if self.public_only else None
        return ServerClient(
            model=self._asked_for,
            retry_seconds=self.retry_seconds,
            api_key=self._found_key(),
            base_url=self.api_base or OPENAI_API_BASE,
            timeout=openai.Timeout(self.timeout, connect=min(_LONGEST_CONNECT, self.timeout)),
            default_headers=self._credentials.headers,
            # An address that was checked must not hand the key on to another one.
            http_client=openai.DefaultHttpxClient(follow_redirects=False, transport=transport),
        )

    def _found_key(self) -> str:
        """The key that was given, or the one that was configured for this very address."""
        settings = Settings()
        if self._credentials.key is None and settings.api_base == self.api_base:
            self._credentials.key = settings.api_key
        if self._credentials.key is not None:
            return self._credentials.key.get_secret_value()
        if self.api_base in (None, OPENAI_API_BASE):
            raise CredentialsError(
                f"{self._here}: no key; set OPENAI_API_KEY or RAG_NODES_API_KEY, or use the "
                "offline models"
            )
        return _NO_KEY


def _made(kind: type[ServerModel], options: Mapping[str, Any], access: Credentials) -> ServerModel:
    model = kind(**options)
    model._credentials = access  # noqa: SLF001 -- what `ServerModel.__reduce__` wrote down
    return model
