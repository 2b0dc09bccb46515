"""What a process other than this one does: a work and its recipe, and a unit at a time."""

from __future__ import annotations

import gc
import logging
import os
import pickle
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.errors import EngineError
from rag_nodes.executors.executor import TELL
from rag_nodes.models.keys import without_keys
from rag_nodes.models.pacing import RequestWindow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_COLLECTED_AFTER = 50_000
"""Objects beyond those there were, after which cycles are looked for: else a tenth of the time."""
_MOST = 20
"""Different warnings of a unit that are passed on."""


class UnitOutcome(NamedTuple):
    """A pickle of what came of a unit, or what it raised, and what was logged meanwhile."""

    value: bytes
    error: Exception | None
    logged: list[tuple[str, int, str]]

    def result(self) -> Any:
        """The value, or the error raised; what was logged is logged here."""
        for name, level, text in self.logged:
            logging.getLogger(name).log(level, "%s", text)
        if self.error:
            raise self.error
        return pickle.loads(self.value)  # noqa: S301 -- of a process of ours


def pickled_job(work: object, recipe: object, workers: int, *, is_remote: bool) -> bytes:
    """All that each of some workers needs for units, with the keys in it, see `WorkerJob`.

    They share what an account may ask in a minute; remote ones have other folders.

    Raises:
        ConfigurationError: the recipe cannot be made in another process; says what of it.
    """
    from rag_nodes.models.pickling import keys_in, pickled  # with LlamaIndex, so only now

    folder = None if is_remote else str(Path.cwd())
    return pickle.dumps((work, pickled(recipe), keys_in(recipe), workers, folder))


class WorkerJob:
    """Work and recipe of a process, made once; see `pickled_job`."""

    def __init__(self, job: bytes, tell: Callable[[int | None], None] | None = None) -> None:
        from rag_nodes.models.pickling import unpickled

        self._log, self._error = _Log(), None
        self.recipe: Any = None
        if tell:
            TELL.set(tell)
        with self._log.listening():
            try:
                self._work, recipe, self._log.keys, workers, folder = unpickled(job)
                RequestWindow.processes = workers
                if folder:
                    os.chdir(folder)
                self.recipe = unpickled(recipe)
                if prepare := getattr(self.recipe, "prepare", None):
                    prepare()
            except Exception as error:  # noqa: BLE001 -- it is raised where units come from
                self._error = error
        gc.freeze()
        gc.set_threshold(_COLLECTED_AFTER, *gc.get_threshold()[1:])

    def do(self, unit: bytes) -> bytes:
        """A pickle of the `UnitOutcome` of a pickled unit."""
        value, error = b"", self._error
        if error is None:
            with self._log.listening():
                try:
                    value = pickle.dumps(self._work(self.recipe, pickle.loads(unit)))  # noqa: S301 -- as above
                except Exception as raised:  # noqa: BLE001 -- as above
                    error = raised
        return pickle.dumps(UnitOutcome(value, _portable(error, self._log.keys), self._log.taken()))


class _Log(logging.Handler):
    """Keeps warnings and errors, each once, without keys."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.keys: Sequence[str] = ()
        self._said: set[tuple[str, int, str]] = set()
        self._waiting: list[tuple[str, int, str]] = []

    @contextmanager
    def listening(self) -> Iterator[None]:
        root = logging.getLogger()
        root.addHandler(self)
        logging.captureWarnings(capture=True)
        try:
            yield
        finally:
            logging.captureWarnings(capture=False)
            root.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            one = record.name, record.levelno, without_keys(record.getMessage(), self.keys)
        except Exception:  # noqa: BLE001 -- of a library that logs what does not fit its own words
            self.handleError(record)
            return
        if one not in self._said and len(self._waiting) < _MOST:
            self._said.add(one)
            self._waiting.append(one)

    def taken(self) -> list[tuple[str, int, str]]:
        taken, self._waiting = self._waiting, []
        return taken


def _portable(error: Exception | None, keys: Sequence[str]) -> Exception | None:
    """The error, or what it says where it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 -- what was just made
    except Exception:  # noqa: BLE001 -- errors of others may need anything
        said = without_keys(str(error), keys)
        return EngineError(f"a worker failed with an unexpected {type(error).__name__}: {said}")
    return error
