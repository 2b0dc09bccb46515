"""What the tests of executors have done: units, and functions of a module."""

import logging
import os
import signal
import sys
import time
from pathlib import Path
from typing import NamedTuple

from rag_nodes.models.executors import working_on


class Files(NamedTuple):
    """A unit that can be halved."""

    numbers: tuple[int, ...]

    def parts(self, at: int | None) -> list["Files"]:
        if len(self.numbers) == 1:
            return []
        middle = len(self.numbers) // 2
        first = self.numbers[:middle] if at is None else self.numbers[at : at + 1]
        return [
            Files(first),
            Files(tuple(number for number in self.numbers if number not in first)),
        ]


class Poison(NamedTuple):
    """A recipe: the number that kills, and a folder that has a file for each death."""

    number: int
    deaths: Path

    def kill(self) -> None:
        (self.deaths / str(os.getpid())).touch()
        os.kill(os.getpid(), signal.SIGKILL)


class Unready(NamedTuple):
    """A recipe that says who makes it, and never is made."""

    folder: str

    def prepare(self) -> None:
        announcing(self.folder, 0)


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


def content(recipe: Path, unit: str) -> str:
    """A file of the recipe's folder."""
    return (recipe / unit).read_text("utf-8")


def cards(_: object, __: int) -> str | None:
    """The graphics cards of its process."""
    return os.environ.get("CUDA_VISIBLE_DEVICES")


def killed_in(recipe: Poison, unit: Files) -> tuple[int, ...]:
    """Dies of one number of a unit."""
    for at, number in enumerate(unit.numbers):
        working_on(at)
        if number == recipe.number:
            recipe.kill()
    return unit.numbers


def slow(folder: str, unit: int) -> int:
    """Says who does it, and takes its time."""
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(0.02)
    return unit


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


def announcing_but_first(recipe: str, unit: int) -> None:
    """Does the first unit, and says who it is and never ends with any other."""
    if unit:
        announcing(recipe, unit)
