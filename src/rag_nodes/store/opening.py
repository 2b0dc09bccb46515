"""The store at a place: in memory, in a folder, or at a URL, with options of a server."""

from __future__ import annotations

import ssl
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rag_nodes.core.errors import ConfigurationError, MissingExtraError, StoreError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.spelling import did_you_mean
from rag_nodes.store.catalogue import shown
from rag_nodes.store.engine import MEMORY
from rag_nodes.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping


class ServerOptions(BaseModel):
    """Options of a Qdrant server; what is None is left to the server.

    The first six say how it is reached, the others how collections are kept that are made.

    Examples:
        >>> from rag_nodes import ServerOptions
        >>> ServerOptions.of({"grpc": True, "quantization": "scalar"}).quantization
        'scalar'
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    grpc: bool = False
    """Speak gRPC, which is faster for large answers and bulk writes, instead of HTTP."""
    grpc_port: int = Field(default=6334, ge=1, le=65535)
    """Port of gRPC on the host of the URL."""
    ca_file: str | None = None
    """File with the certificate (PEM) of the authority that signed the server's, where it is none
    that everybody trusts. There is no way to trust whatever answers."""
    timeout: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds that one request may take."""
    retries: int = Field(default=5, ge=0, le=20)
    """Repetitions of a request that met a refused or broken connection, a full server
    (HTTP 429) or a fault of its own (HTTP 5xx), after 0.25, 0.5, 1, 2 … seconds, each shortened at
    random by up to half. Every request of ours may be repeated: points are written by id."""
    trusted_network: bool = False
    """The API key may cross the network unencrypted, by http:// to another machine."""
    quantization: Literal["scalar", "product", "binary"] | None = None
    """Search smaller copies of the embeddings: a quarter of the size (scalar), a sixteenth
    (product) or a thirty-second (binary, for long embeddings only)."""
    shards: int | None = Field(default=None, ge=1)
    """Parts that a new collection is split into, so that several machines can share it."""
    replicas: int | None = Field(default=None, ge=1)
    """Copies of each part, on as many machines."""
    vectors_on_disk: bool | None = None
    """Keep embeddings on disk, read as they are needed, and not in memory."""
    payload_on_disk: bool | None = None
    """The same of texts and metadata."""
    hnsw_m: int | None = Field(default=None, ge=0)
    """Links of each point in the search graph; 0 builds none, which makes loading much cheaper and
    searching a look at every point."""

    def __init__(self, **options: Any) -> None:
        # Not a validator, out of which no ValueError comes as it is.
        try:
            super().__init__(**options)
        except ValidationError as error:
            raise ConfigurationError(_readable(error)) from error

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ServerOptions:
        """Options from plain data, as settings have them.

        Raises:
            ConfigurationError: a name is unknown, or a value of the wrong type or out of range.
        """
        return cls(**values)

    @model_validator(mode="after")
    def _certificates_are_for_http(self) -> ServerOptions:
        if self.grpc and self.ca_file:
            raise ValueError(
                "gRPC reads its own list of authorities; leave ca_file out and set the variable "
                "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH to that file"
            )
        return self

    def certificates(self) -> ssl.SSLContext | None:
        """Return the certificates that verify the server; None for the system's.

        Raises:
            ConfigurationError: the file is missing or holds no certificate.
        """
        if self.ca_file is None:
            return None
        try:
            return ssl.create_default_context(cafile=Path(self.ca_file).expanduser())
        except OSError as error:
            raise ConfigurationError(
                f"store option ca_file: {self.ca_file} holds no certificate that can be read "
                f"({error.strerror or error}); name a file in PEM format"
            ) from error


def _readable(error: ValidationError) -> str:
    lines = []
    for problem in error.errors(include_input=False, include_url=False, include_context=False):
        name, reason = ".".join(map(str, problem["loc"])), problem["msg"]
        if problem["type"] == "extra_forbidden":
            options = list(ServerOptions.model_fields)
            hint = did_you_mean(name, options, "options are: ")
            lines.append(f"store option {name} is unknown; {hint}")
        else:
            reason = reason.removeprefix("Value error, ")
            lines.append(f"store option {name}: {reason}" if name else f"store options: {reason}")
    return "; ".join(lines)


@checks_keywords
def open_store(
    location: str | Path = MEMORY,
    api_key: str | None = None,
    options: ServerOptions | None = None,
) -> Store:
    """Open a store.

    Args:
        location: ":memory:" (gone at the end, each call a new one), a folder (made when missing),
            or the URL of a Qdrant server.
        api_key: key of the server; without meaning for the others.
        options: how the server is reached and keeps collections; without meaning for the others.

    Returns:
        The store; use it in a `with` statement or call `close`.

    Raises:
        ConfigurationError: the location is empty, or the key would cross a network unencrypted.
        MissingExtraError: Qdrant is not installed.
        StoreForeignError: no store of ours made the folder, and something is in it.
        StoreLockedError: another process holds the folder.
        StoreDamagedError: the folder's content cannot be read.
        StoreFullError: the disk has too little space to work safely.
        StoreUnreachableError: the server does not answer.
        StoreError: the folder cannot be created, or the server refused the key.
    """
    place = str(location)
    if not place.strip():
        raise ConfigurationError(
            f"no storage location given; use '{MEMORY}', a folder or a Qdrant URL"
        )
    if urlsplit(place).scheme in {"http", "https"}:
        if find_spec("qdrant_client") is None:
            raise MissingExtraError("qdrant_client", "qdrant")
        from rag_nodes.store.server import Served, connected

        options = options or ServerOptions()
        return Store(Served(shown(place), connected(place, api_key, options), options))
    if find_spec("qdrant_edge") is None:
        if find_spec("qdrant_client") is None:
            raise MissingExtraError("qdrant_edge", "qdrant")
        # The rest of the extra is here: maybe the engine could not be installed with it.
        raise StoreError(
            "Qdrant's embedded engine (qdrant-edge-py) is not installed; pip install "
            "'rag-nodes[qdrant]' brings it, but there is no build of it for Windows on ARM64, nor "
            "for Linux on ARM64 with a glibc before 2.28: run a Qdrant server there and give its "
            "URL as the storage location"
        )
    if place == MEMORY:
        from rag_nodes.store.edge.memory import MemoryEdge

        return Store(MemoryEdge())
    from rag_nodes.store.edge.engine import FolderEdge

    return Store(FolderEdge.of(Path(place).expanduser().resolve()))
