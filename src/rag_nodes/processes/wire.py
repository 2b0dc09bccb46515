"""What parent and child say to each other: length-prefixed JSON, both ways.

JSON and no pickle: the child has worked on what may be hostile, so what it says is data to be
checked, and must not be able to run code in the parent.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rag_nodes import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

_LENGTH = struct.Struct(">I")


def send(stream: IO[bytes], message: Any) -> None:
    """Write one message; lone surrogates, as in odd file names, go through unchanged."""
    send_bytes(stream, json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def receive(stream: IO[bytes]) -> Any:
    """Read one message.

    Raises:
        EOFError: the other side is gone, or died within a message.
        ValueError: it is no message.
    """
    return json.loads(receive_bytes(stream).decode("utf-8", "surrogatepass"))


def send_bytes(stream: IO[bytes], body: bytes) -> None:
    """Write one message that is no JSON."""
    stream.write(_LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def receive_bytes(stream: IO[bytes]) -> bytes:
    """Read one message that is no JSON.

    Raises:
        EOFError: the other side is gone, or died within a message.
    """
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data


def pack_error(error: errors.RagNodesError) -> dict[str, Any]:
    """Give an error as what JSON can hold."""
    arguments = error.__reduce__()[1]
    return {"error": type(error).__name__, "arguments": [str(one) for one in arguments]}


def unpack_error(data: Mapping[str, Any]) -> errors.RagNodesError:
    """Undo `pack_error`.

    Raises:
        ValueError: this is no error of ours.
    """
    try:
        kind: type[errors.RagNodesError] = vars(errors)[data["error"]]
        arguments = data["arguments"]
        if not issubclass(kind, errors.RagNodesError):
            raise ValueError(f"not an error of ours: {kind.__name__}")  # noqa: TRY004 - data
        if issubclass(kind, errors.ReadError):
            path, *rest = arguments
            return kind(Path(path), *rest)
        return kind(*arguments)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not an error of ours: {error}") from error
