"""How a server is reached, and how it keeps what is stored there: plain data, checked once."""

from __future__ import annotations

import ssl
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping


class ServerOptions(BaseModel):
    """Options of a Qdrant server; what is None is left to the server.

    The first six say how it is reached, the others how collections are kept that are made.

    Example:
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
    """How often a request is repeated that met a refused or broken connection, a full server
    (HTTP 429) or a fault of its own (HTTP 5xx), after 0.25, 0.5, 1, 2 … seconds, each shortened at
    random by up to half. Every request of ours may be repeated: points are written by id. gRPC
    repeats four times at most."""
    trusted_network: bool = False
    """The API key may cross the network unencrypted, by http:// to another machine."""
    quantization: Literal["scalar", "product", "binary"] | None = None
    """Search smaller copies of the embeddings: a quarter of the size (scalar), a sixteenth
    (product) or a thirty-second (binary, for long embeddings only)."""
    shards: int | None = Field(default=None, ge=1)
    """Parts that a new collection is cut into, so that several machines can share it."""
    replicas: int | None = Field(default=None, ge=1)
    """Copies of each part, on as many machines."""
    vectors_on_disk: bool | None = None
    """Keep embeddings on disk, read as they are needed, and not in memory."""
    payload_on_disk: bool | None = None
    """The same of texts and metadata."""
    hnsw_m: int | None = Field(default=None, ge=0)
    """Links of each point in the search graph; 0 builds none, which makes loading much cheaper and
    searching a look at every point."""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ServerOptions:
        """Options from plain data, as settings have them.

        Raises:
            ConfigurationError: a name is unknown, or a value of the wrong type or out of range.
        """
        try:
            return cls(**values)
        except ValidationError as error:
            raise ConfigurationError(_readable(error)) from error

    @model_validator(mode="after")
    def _certificates_are_for_http(self) -> ServerOptions:
        if self.grpc and self.ca_file:
            raise ValueError(
                "gRPC reads its own list of authorities; leave ca_file out and set the variable "
                "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH to that file"
            )
        return self

    def certificates(self) -> ssl.SSLContext | None:
        """What the server's certificate is checked against; None for what everybody trusts.

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
        name = ".".join(map(str, problem["loc"]))
        if problem["type"] == "extra_forbidden":
            known = list(ServerOptions.model_fields)
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"options are: {', '.join(known)}"
            lines.append(f"store option {name} is unknown; {hint}")
        else:
            said = problem["msg"].removeprefix("Value error, ")
            lines.append(f"store option {name}: {said}" if name else f"store options: {said}")
    return "; ".join(lines)
