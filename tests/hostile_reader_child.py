# ruff: noqa: ARG001 - readers have one signature
"""A reading child with readers that do what hostile files do to real ones; by suffix."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from rag_nodes.core.errors import CorruptFileError
from rag_nodes.core.processes import progress, tell_share
from rag_nodes.readers import isolation, kinds
from rag_nodes.readers.base import Limits, Reading

served: list[Path] = []


def exits(path: Path, limits: Limits) -> Reading:
    os._exit(7)


def faults(path: Path, limits: Limits) -> Reading:
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError("a segmentation fault ends the process")


def hangs(path: Path, limits: Limits) -> Reading:
    total = sum(range(10**15))  # in C, with the interpreter locked
    return Reading(text=str(total))


def dawdles(path: Path, limits: Limits) -> Reading:
    while True:
        tell_share(0.5)


def lies(path: Path, limits: Limits) -> Reading:
    listener = progress._LISTENER.get()
    assert listener
    listener(7.0)
    return Reading(text="read sevenfold")


def grows(path: Path, limits: Limits) -> Reading:
    return Reading(text=str(len(bytearray(8 * 1024**3))))


def tires(path: Path, limits: Limits) -> Reading:
    """Crash in a process that has read another file before."""
    if served:
        os._exit(8)
    return Reading(text="read by a fresh process")


def answers(path: Path, limits: Limits) -> Reading:
    served.append(path)
    return Reading(text=f"process {os.getpid()}")


def babbles(path: Path, limits: Limits) -> Reading:
    print("what a library prints")  # noqa: T201 - the point
    os.write(1, b"\xff" * 100)
    return Reading(text="heard")


def refuses(path: Path, limits: Limits) -> Reading:
    raise CorruptFileError(path)


def many(path: Path, limits: Limits) -> Iterator[Reading]:
    for number in range(3):
        yield Reading(text=f"document {number} of process {os.getpid()}")
    if path.stem == "broken":
        os._exit(9)


def main() -> None:
    kinds.SUFFIXES.update(
        {
            ".exits": exits,
            ".faults": faults,
            ".hangs": hangs,
            ".dawdles": dawdles,
            ".lies": lies,
            ".grows": grows,
            ".tires": tires,
            ".answers": answers,
            ".babbles": babbles,
            ".refuses": refuses,
        }
    )
    kinds.COLLECTIONS[".many"] = many
    isolation.main()
