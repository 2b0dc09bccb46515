"""What the tests of executors have done: units, and functions of a module."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from pathlib import Path
from typing import NamedTuple


class Files(NamedTuple):
    """A unit that can be halved."""

    numbers: tuple[int, ...]

    def halves(self) -> list[Files]:
        middle = len(self.numbers) // 2
        return [Files(self.numbers[:middle]), Files(self.numbers[middle:])] if middle else []


class Unborn:
    """A recipe of which no process can be made."""

    def prepare(self) -> None:
        os._exit(3)


class Refusing:
    """A recipe that raises."""

    def prepare(self) -> None:
        raise LookupError("no such model")


class PreciseError(Exception):
    """One that cannot be made of its message alone."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


def twice(recipe: int, unit: int) -> int:
    return recipe * unit


def where(_: object, __: int) -> int:
    return os.getpid()


def killed_by(recipe: int, unit: int) -> int:
    """Dies of one unit."""
    if unit == recipe:
        os.kill(os.getpid(), signal.SIGKILL)
    return unit


def killed_in(recipe: int, unit: Files) -> tuple[int, ...]:
    """Dies of one number of a unit."""
    if recipe in unit.numbers:
        os.kill(os.getpid(), signal.SIGKILL)
    return unit.numbers


def killed_once(recipe: str, unit: int) -> int:
    """Dies of each third unit, the first time."""
    mark = Path(recipe) / str(unit)
    if unit % 3 == 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return unit


def raising(recipe: type[Exception], unit: int) -> int:
    if unit == 3:
        raise recipe("one", "two") if recipe is PreciseError else recipe("boom")
    return unit


def talking(_: object, unit: int) -> int:
    sys.stdout.write("\x1b[31mheard by nobody")
    logging.getLogger("a.library").warning("of all units")
    return unit


def announcing(recipe: str, _: int) -> None:
    """Says who it is, and never ends."""
    (Path(recipe) / str(os.getpid())).touch()
    while True:
        time.sleep(1)
