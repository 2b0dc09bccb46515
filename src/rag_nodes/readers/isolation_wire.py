"""What parent and child of `isolation` say to each other: length-prefixed JSON, both ways.

JSON and no pickle: the child has parsed a file that may be hostile, so what it says is data to be
checked, and must not be able to run code in the parent.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from rag_nodes import errors
from rag_nodes.readers.base import Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["ready", "item", "raised", "end"]
"""Of a message from the child: the file is about to be read; a document or its error; the error
that ended the file; the end, with True where the child should not read another file."""

_LENGTH = struct.Struct(">I")


def send(stream: IO[bytes], message: Any) -> None:
    """Write one message; lone surrogates, as in odd file names, go through unchanged."""
    body = json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")
    stream.write(_LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read one message.

    Raises:
        EOFError: the other side is gone, or died within a message.
        ValueError: it is no message.
    """
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return json.loads(_exactly(stream, length).decode("utf-8", "surrogatepass"))


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data


def pack(outcome: Reading | errors.RagNodesError) -> dict[str, Any]:
    """Give a reading or an error as what JSON can hold."""
    if isinstance(outcome, Reading):
        return asdict(outcome)
    arguments = outcome.__reduce__()[1]
    return {"error": type(outcome).__name__, "arguments": [str(one) for one in arguments]}


def unpack(data: Mapping[str, Any]) -> Reading | errors.RagNodesError:
    """Undo `pack`.

    Raises:
        ValueError: this is neither a reading nor an error of ours.
    """
    try:
        if "error" in data:
            return _error(data["error"], data["arguments"])
        starts = data["page_starts"]
        return Reading(
            **{
                **data,
                "page_starts": None if starts is None else tuple(starts),
                "warnings": tuple(data["warnings"]),
                "also_at": tuple(data["also_at"]),
            }
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not an answer of a reader: {error}") from error


def _error(name: str, arguments: list[str]) -> errors.RagNodesError:
    kind: type[errors.RagNodesError] = vars(errors)[name]
    if not issubclass(kind, errors.RagNodesError):
        raise ValueError(f"not an error of a reader: {name}")  # noqa: TRY004 - data, not a call
    if issubclass(kind, errors.ReadError):
        path, *rest = arguments
        return kind(Path(path), *rest)
    return kind(*arguments)
