"""What a process other than this one does: a work and its recipe, and a unit at a time."""

from __future__ import annotations

import gc
import logging
import pickle
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.errors import EngineError
from rag_nodes.models.keys import without_keys

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLLECTED_AFTER = 50_000
"""Objects beyond those there were, after which cycles are looked for: else a tenth of the time."""
_MOST = 20
"""Different warnings of a unit that are passed on."""


class UnitOutcome(NamedTuple):
    """What came of a unit.

    Attributes:
        value: what the work gave.
        error: what it raised; None for nothing.
        logged: what was logged meanwhile: logger, level and text.
    """

    value: Any
    error: Exception | None
    logged: list[tuple[str, int, str]]

    def result(self) -> Any:
        """The value, or the error raised; what was logged is logged here."""
        for name, level, text in self.logged:
            logging.getLogger(name).log(level, "%s", text)
        if self.error:
            raise self.error
        return self.value


class UnitRunner:
    """Work and recipe, made of a pickle of both.

    Args:
        pickled: what `pickle.dumps((work, recipe))` gave.
    """

    def __init__(self, pickled: bytes) -> None:
        self._words = _Words()
        self._error: Exception | None = None
        with self._words.listening():
            try:
                self._work, self._recipe = pickle.loads(pickled)  # noqa: S301 -- by who started us
                self._words.keys = getattr(self._recipe, "keys", ())
                if prepare := getattr(self._recipe, "prepare", None):
                    prepare()
            except Exception as error:  # noqa: BLE001 -- it is raised where the unit was given
                self._error = error
        gc.freeze()
        gc.set_threshold(_COLLECTED_AFTER, *gc.get_threshold()[1:])

    def do(self, unit: bytes) -> bytes:
        """A pickle of the `UnitOutcome` of a unit."""
        value, error = None, self._error
        with self._words.listening():
            try:
                if error is None:
                    value = self._work(self._recipe, pickle.loads(unit))  # noqa: S301 -- as above
                    pickle.dumps(value)
            except Exception as raised:  # noqa: BLE001 -- it is raised where the unit was given
                value, error = None, raised
        portable = _portable(error, self._words.keys)
        return pickle.dumps(UnitOutcome(value, portable, self._words.taken()))


class _Words(logging.Handler):
    """Keeps warnings and errors, each once, without keys."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.keys: tuple[str, ...] = ()
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
            text = without_keys(record.getMessage(), self.keys)
        except Exception:  # noqa: BLE001 -- of a library that logs what does not fit its own words
            self.handleError(record)
            return
        one = (record.name, record.levelno, text)
        if one not in self._said and len(self._waiting) < _MOST:
            self._said.add(one)
            self._waiting.append(one)

    def taken(self) -> list[tuple[str, int, str]]:
        taken, self._waiting = self._waiting, []
        return taken


def _portable(error: Exception | None, keys: tuple[str, ...]) -> Exception | None:
    """The error, or what it says where it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 -- what was just made
    except Exception:  # noqa: BLE001 -- errors of others may need anything
        said = without_keys(str(error), keys)
        return EngineError(f"a worker failed with an unexpected {type(error).__name__}: {said}")
    return error
