"""Executors: units in, results out; in this process, or in others by one loop.

The loop decides what is done again, and which units of a crashed
worker are retried in isolation. Nothing here knows what is done.
"""

from __future__ import annotations

import gc
import logging
import os
import pickle
from abc import ABC, abstractmethod
from collections import deque
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rag_nodes.core.errors import ConfigurationError, EngineError
from rag_nodes.core.keys import without_keys, words_of
from rag_nodes.core.processes import current_interrupt
from rag_nodes.models.pickling import Sharing, keys_in, pickled, unpickled

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

RecipeT = TypeVar("RecipeT")
UnitT = TypeVar("UnitT")
ResultT = TypeVar("ResultT")

_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")
"""File in which a container has its share of the cores."""
TELL: ContextVar[Callable[[int | None], None]] = ContextVar("tell", default=lambda _: None)
"""Hears of each part of a unit before it is begun."""


class LostUnit(NamedTuple):
    """There is no result, as the unit ended its process twice: by "SIGKILL", "exit code 1"."""

    reason: str


class Executor(ABC):
    """Does a function for many units, here or in other processes.

    Attributes:
        workers: units that are done at the same time.
        is_remote: units may be done on machines that do not have the files of this one.
    """

    workers = 1
    is_remote = False

    @abstractmethod
    def run(
        self, work: Callable[[RecipeT, UnitT], ResultT], recipe: RecipeT, units: Iterable[UnitT]
    ) -> Iterator[tuple[UnitT, ResultT | LostUnit]]:
        """Do each unit, in any order; units are taken as there is room.

        Args:
            work: a function of a module. It may be done twice for a unit whose process died.
            recipe: what all units share; other processes get it once, see `models.pickling`. It
                may have `prepare()`, called once in every process before its first unit.
            units: with pickles. One may have `parts(at)`, to find out of which its process died:
                the part that was in hand, see `working_on`, and the others; for None two halves.

        Yields:
            A unit, or one of its parts, and what came of it.

        Raises:
            CancelledError: see `rag_nodes.core.processes.interruptible`.
            ConfigurationError: the recipe cannot be made in another process; says what of it.
            EngineError: processes cannot be started, or die before they begin.
            Exception: whatever `work` or `prepare` raised.
        """

    def close(self) -> None:  # noqa: B027 -- an executor without other processes ends none
        """End all processes at once, whatever they do; the next run starts new ones."""


class Inline(Executor):
    """See `Executor`: in this process, one after the other; nothing is pickled."""

    def run(
        self, work: Callable[[RecipeT, UnitT], ResultT], recipe: RecipeT, units: Iterable[UnitT]
    ) -> Iterator[tuple[UnitT, ResultT | LostUnit]]:
        """See `Executor`."""
        if prepare := getattr(recipe, "prepare", None):
            prepare()
        for unit in units:
            current_interrupt().check("the work")
            yield unit, work(recipe, unit)


def working_on(part: int | None) -> None:
    """Say by number which part of its unit a work has in hand; None for the whole again."""
    TELL.get()(part)


def usable_cores() -> int:
    """Cores that this process may use: by its affinity, and by the limits of its container."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    try:
        quota, period = _CPU_MAX.read_text(encoding="ascii").split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):  # no cgroup of version 2, or no limit
        return cores


POLL = 0.2
"""Seconds after which a run that was cancelled ends at the latest."""
_DEATHS = 2
"""Processes that a unit may take with it before it is given up."""
_BARREN = 2
"""Deaths in a row of processes that had not begun, after one of each worker, which end the run."""
_COLLECTED_AFTER = 50_000
"""Objects beyond those there were, after which cycles are looked for: else a tenth of the time."""
_MOST = 20
"""Different warnings of a unit that are passed on."""


class Death(NamedTuple):
    """A process ended, perhaps of the unit it had `begun`, and of the `part` it had in hand."""

    reason: str
    begun: bool = True
    part: int | None = None


@dataclass(slots=True)
class _Flight:
    """A unit, and the number of processes that it crashed; suspected units run in isolation."""

    unit: Any
    deaths: int = 0
    is_suspect: bool = False


class Dispatcher(Executor):
    """Dispatches units to workers and retries units from a crashed worker in isolation."""

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise ConfigurationError(f"workers must be at least 1, not {workers}")
        self.workers = workers or usable_cores()
        self._session = ExitStack()
        """Ends what `_begin` started."""
        self._given: tuple[object, object] | None = None
        self._flying: dict[Hashable, _Flight] = {}
        self._again: deque[_Flight] = deque()
        self._barren = 0

    def run(
        self, work: Callable[[RecipeT, UnitT], ResultT], recipe: RecipeT, units: Iterable[UnitT]
    ) -> Iterator[tuple[UnitT, ResultT | LostUnit]]:
        """See `Executor`; processes stay for the next run of the same work and recipe."""
        if self._given != (work, recipe):
            self.close()
            self._begin(pickled_job(work, recipe, self.workers))
            self._given = work, recipe
        fresh = map(_Flight, units)
        try:
            while True:
                self._fill(fresh)
                if not self._flying:
                    return
                for handle, outcome in self._done():
                    flight = self._flying.pop(handle)
                    if isinstance(outcome, UnitOutcome):
                        self._barren = 0
                        yield flight.unit, outcome.result()
                    elif lost := self._lost(flight, outcome):
                        yield flight.unit, lost
                current_interrupt().check("the work")
        finally:
            if self._flying or self._again:  # nobody takes what would come of them
                self.close()

    def _fill(self, fresh: Iterator[_Flight]) -> None:
        """Have done what there is room for."""
        while flight := self._next(fresh):
            self._flying[self._submit(pickle.dumps(flight.unit))] = flight

    def _next(self, fresh: Iterator[_Flight]) -> _Flight | None:
        """Return the unit to start now; None if there is no room, or no unit left."""
        if self._again:
            return None if self._flying else self._again.popleft()
        is_alone = any(unit.is_suspect for unit in self._flying.values())
        # One waits, so that nobody is idle while a result is looked at.
        return None if is_alone or len(self._flying) > self.workers else next(fresh, None)

    def _lost(self, flight: _Flight, death: Death) -> LostUnit | None:
        """Return why a unit is given up; None to retry it, alone and in parts."""
        if not death.begun:
            self._barren += 1
            if self._barren > self.workers + _BARREN:
                raise EngineError(
                    f"workers end before they start ({death.reason}); check free memory and the "
                    f"process limit, or run without workers"
                )
            self._again.append(flight)
            return None
        self._barren = 0
        unit, deaths = flight.unit, flight.deaths + 1
        parts = unit.parts(death.part) if hasattr(unit, "parts") else ()
        if not parts and deaths >= _DEATHS:
            return LostUnit(death.reason)
        flights = [_Flight(part, is_suspect=True) for part in parts or (unit,)]
        if not parts or death.part is not None:
            flights[0].deaths = deaths
        self._again.extend(flights)
        return None

    def close(self) -> None:
        """See `Executor`."""
        self._given = None
        self._session.close()
        self._flying.clear()
        self._again.clear()

    @abstractmethod
    def _begin(self, job: bytes) -> None:
        """Make ready for units of this job, see `WorkerJob`, until the session is closed."""

    @abstractmethod
    def _submit(self, unit: bytes) -> Hashable:
        """Have a unit done, and say by what it is known to `_done`."""

    @abstractmethod
    def _done(self) -> Iterable[tuple[Hashable, UnitOutcome | Death]]:
        """Yield the outcomes of units in progress; none if none ends within `POLL`."""


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


def pickled_job(work: object, recipe: object, workers: int) -> bytes:
    """All that each of some workers needs for units, with the keys in it, see `WorkerJob`.

    The current folder goes along, so that relative names are those of the same files everywhere.

    Raises:
        ConfigurationError: the recipe cannot be made in another process; says what of it.
    """
    return pickle.dumps((work, pickled(recipe), keys_in(recipe), workers, Path.cwd()))


class WorkerJob:
    """Work and recipe of a process, made once; see `pickled_job`."""

    def __init__(self, job: bytes, tell: Callable[[int | None], None] | None = None) -> None:
        self._log, self._error = _Log(), None
        self.recipe: Any = None
        if tell:
            TELL.set(tell)
        with self._log.listening():
            try:
                self._work, recipe, self._log.keys, workers, folder = unpickled(job)
                Sharing.processes = workers
                with suppress(OSError):  # another machine need not have it if no name is relative
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
            entry = record.name, record.levelno, without_keys(record.getMessage(), self.keys)
        except Exception:  # noqa: BLE001 -- of a library that logs what does not fit its own words
            self.handleError(record)
            return
        if entry not in self._said and len(self._waiting) < _MOST:
            self._said.add(entry)
            self._waiting.append(entry)

    def taken(self) -> list[tuple[str, int, str]]:
        taken, self._waiting = self._waiting, []
        return taken


def _portable(error: Exception | None, keys: Sequence[str]) -> Exception | None:
    """The error, or what it says where it cannot be pickled."""
    if error is None:
        return None
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 -- what was just made
    except Exception:  # noqa: BLE001 -- errors of others may need anything
        words = without_keys(words_of(error), keys)
        return EngineError(f"a worker failed with an unexpected error: {words}")
    return error
