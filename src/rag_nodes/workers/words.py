"""What is logged in a worker and what stands on its stderr, for people: without keys."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import OrderedDict, deque
from contextlib import closing, contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

from rag_nodes.models.rebuilding import without_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from pydantic import SecretStr

    from rag_nodes.workers.transport import Trade, Worker

MOST = 20
"""Different words of a worker on one task; who has more to say repeats himself."""
_REMEMBERED = 1_000
"""Words of which is known that they were said."""
_FOR_PEOPLE, _FOR_DRIVER = b"P", b"D"
"""First byte of what a worker says."""
_MARK = b"\x1e"
_KEPT = 2_000
"""Bytes of stderr that are kept."""
_LINES = 3
"""Lines of stderr that are quoted,"""
_QUOTED = 300
"""and characters."""
_PATIENCE = 1.0
"""Seconds for what a process has written to be read after its end."""


class Logged(NamedTuple):
    """What was logged in a worker.

    Attributes:
        logger: its name.
        level: as in `logging`.
        text: what was said.
    """

    logger: str
    level: int
    text: str

    def log(self) -> None:
        """Have it logged in this process."""
        logging.getLogger(self.logger).log(self.level, "%s", self.text)

    def pack(self) -> bytes:
        """As bytes."""
        return _FOR_PEOPLE + json.dumps(self).encode()

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Undo `pack`.

        Raises:
            ValueError: it is nothing of this kind.
        """
        logger, level, text = json.loads(data.removeprefix(_FOR_PEOPLE))
        return cls(str(logger), int(level), str(text))


def packed(message: bytes) -> bytes:
    """What a worker says to the driver, so that it is not taken for what is `Logged`."""
    return _FOR_DRIVER + message


class _Once:
    """Says whether something is said for the first time, as far as it remembers."""

    def __init__(self) -> None:
        self._said: OrderedDict[Logged, None] = OrderedDict()
        self._lock = threading.Lock()

    def is_new(self, one: Logged) -> bool:
        with self._lock:
            known = one in self._said
            self._said[one] = None
            if len(self._said) > _REMEMBERED:
                self._said.popitem(last=False)
        return not known


class Hearing:
    """What workers say, sorted: what is for people is logged, each once, whoever says it.

    Args:
        unpack: undoes what was done to a message before it was `packed`.
    """

    def __init__(self, unpack: Callable[[bytes], Any]) -> None:
        self._unpack = unpack
        self._once = _Once()

    def message(self, data: bytes) -> Any | None:
        """What a worker said to the driver; None where it was for people, and is logged by now.

        Raises:
            ValueError: it is neither.
        """
        if data.startswith(_FOR_PEOPLE):
            logged = Logged.unpack(data)
            if self._once.is_new(logged):
                logged.log()
            return None
        if not data.startswith(_FOR_DRIVER):
            raise ValueError("it is no message of a worker")
        return self._unpack(data.removeprefix(_FOR_DRIVER))


class LoggedWords(logging.Handler):
    """Keeps warnings and errors of a process until they are taken, each once.

    Args:
        keys: that the process was given.
    """

    def __init__(self, keys: Mapping[str, SecretStr]) -> None:
        super().__init__(logging.WARNING)
        self._keys = keys
        self._once = _Once()
        self._waiting: deque[Logged] = deque()
        self._room = MOST

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear all loggers, and what is warned of, while one task is done."""
        self._room = MOST
        root = logging.getLogger()
        root.addHandler(self)
        logging.captureWarnings(capture=True)
        try:
            yield
        finally:
            logging.captureWarnings(capture=False)
            root.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one, unless it was said before or there were too many."""
        try:
            self._keep(record)
        except Exception:  # noqa: BLE001 - of a library that logs what does not fit its own words
            self.handleError(record)

    def _keep(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info and (error := record.exc_info[1]):
            text = f"{text} ({type(error).__name__}: {error})"
        one = Logged(record.name, record.levelno, without_keys(text, self._keys))
        if self._room and self._once.is_new(one):
            self._room -= 1
            self._waiting.append(one)

    def taken(self) -> Iterator[Logged]:
        """What was said since the last time."""
        while self._waiting:
            yield self._waiting.popleft()


def spoken(
    worker: Worker, task: Any, trade: Trade, words: LoggedWords
) -> Generator[tuple[bytes, bool]]:
    """All that a worker says of a task, what was logged meanwhile before what it was logged at.

    Yields:
        Bytes for `Hearing`, and whether the task is over with them.
    """
    with words.listening(), closing(worker.work(task)) as messages:
        for message in messages:
            for one in words.taken():
                yield one.pack(), False
            yield packed(trade.pack(message)), isinstance(message, trade.last)


def turn_page() -> None:
    """Write to stderr that what stands there so far is not about what is done now.

    In the same pipe: in another one it would come before or after what it is about by chance.
    """
    with suppress(OSError):  # nobody reads it any more
        os.write(2, _MARK)


class LastWords:
    """The end of what a process writes to its stderr, which somebody must read or it would wait.

    It is what stands there since the process last said `turn_page`.

    Args:
        stream: its stderr.
        keys: that it was given.
    """

    def __init__(self, stream: IO[bytes], keys: Mapping[str, SecretStr]) -> None:
        self._stream, self._keys = stream, keys
        self._kept = b""
        self._thread = threading.Thread(target=self._read, name="stderr of a worker", daemon=True)
        self._thread.start()

    def after(self, ending: str) -> str:
        """How the process ended, and what it said last."""
        self._thread.join(_PATIENCE)
        _, mark, words = self._kept.rpartition(_MARK)
        lines = words.decode("utf-8", "replace").splitlines()
        if len(self._kept) == _KEPT and not mark:
            lines = lines[1:]  # half a line may be half a key
        last = [without_keys(line, self._keys) for line in lines if line.strip()][-_LINES:]
        return f"{ending}: {' | '.join(last)[-_QUOTED:]}" if last else ending

    def _read(self) -> None:
        with self._stream:
            while data := self._stream.read1(_KEPT):  # type: ignore[attr-defined]
                self._kept = (self._kept + data)[-_KEPT:]
