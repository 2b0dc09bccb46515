"""What a child process runs in place of a worker: it does with a task what its first file says."""

import json
import os
import signal
import struct
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    received()
    words = received()["files"]
    {"nonsense": nonsense, "depth": depth, "torn": torn, "fork": fork, "abort": abort}[words[0]](
        *words[1:]
    )


def received() -> Any:
    (length,) = struct.unpack(">I", sys.stdin.buffer.read(4))
    return json.loads(sys.stdin.buffer.read(length))


def said(data: bytes) -> None:
    sys.stdout.buffer.write(struct.pack(">I", len(data)) + data)
    sys.stdout.buffer.flush()
    signal.pause()


def nonsense() -> None:
    said(b"segmentation fault")


def depth() -> None:
    head = b"[" * 200_000
    said(b"D" + struct.pack(">I", len(head)) + head)


def torn() -> None:
    said(b"D" + b"\0")


def fork(note: str) -> None:
    """Die, and leave somebody behind who holds the pipes."""
    if left := os.fork():
        Path(note).write_text(str(left), encoding="ascii")
        os._exit(7)
    signal.pause()


def abort(*last: str) -> None:
    sys.stderr.write("\n".join(last) + "\n")
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGABRT)
