"""Reading ahead: documents are read by a thread while those before them are cut and embedded."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Generic, TypeVar

from rag_nodes.processes import Interrupt, current_interrupt, interruptible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")

MOST_ITEMS = 16
"""Documents that are read and not taken, at most."""
MOST_CHARACTERS = 2_000_000
"""Their characters, at most; one document may have more, and then is alone."""


@contextmanager
def ahead(
    items: Iterable[Item], size: Callable[[Item], int] = lambda _: 0
) -> Iterator[Iterator[Item]]:
    """The items, which a thread makes meanwhile, a bounded number ahead of who takes them.

    What the thread waits for is ended with the context, see `interruptible`.

    Args:
        items: made in the thread, in which the context variables are those of this one.
        size: of an item, in characters.

    Raises:
        Exception: what making the next item raised, where that is taken.
    """
    interrupt = Interrupt()
    with current_interrupt().killing(interrupt.set), interruptible(interrupt):
        made = _Ahead(items, size)
        thread = threading.Thread(
            target=copy_context().run, args=(made.make,), daemon=True, name="reading"
        )
        thread.start()
        try:
            yield made.take()
        finally:
            made.end()
            interrupt.set()
            thread.join()


class _Ahead(Generic[Item]):
    """What was made and not taken."""

    def __init__(self, items: Iterable[Item], size: Callable[[Item], int]) -> None:
        self._items = iter(items)
        self._size = size
        self._made: deque[Item] = deque()
        self._characters = 0
        self._ended = False
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    def make(self) -> None:
        """Make all items; what is raised is kept for who takes them."""
        try:
            for item in self._items:
                with self._changed:
                    self._changed.wait_for(lambda: self._ended or self._has_room(item))  # noqa: B023 - called at once
                    if self._ended:
                        return
                    self._made.append(item)
                    self._characters += self._size(item)
                    self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001 - raised by `take`
            self._error = error
        finally:
            self.end()

    def take(self) -> Iterator[Item]:
        """The items, each waited for."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._made or self._ended)
                if not self._made:
                    break
                item = self._made.popleft()
                self._characters -= self._size(item)
                self._changed.notify_all()
            yield item
        if self._error is not None:
            raise self._error

    def end(self) -> None:
        """Make no more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _has_room(self, item: Item) -> bool:
        if not self._made:
            return True
        fits = self._characters + self._size(item) <= MOST_CHARACTERS
        return len(self._made) < MOST_ITEMS and fits
