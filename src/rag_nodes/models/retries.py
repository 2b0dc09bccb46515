"""One rule for requests that fail: tried again with growing pauses until their time is up."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Response = TypeVar("Response")

FIRST_WAIT = 0.5
"""Seconds before the second attempt; doubles from one attempt to the next."""
LONGEST_WAIT = 8.0
"""Seconds to which the pauses grow."""


def retried(
    request: Callable[[], Response],
    *,
    seconds: float,
    asked_to_wait: Callable[[Exception], float | None],
    on_wait: Callable[[Exception, float], None],
) -> Response:
    """The response of `request`, repeated while that may help and time is left (S0-30, S1-22).

    The last attempt is made when the time is up, so a server that is away for less loses nothing.
    A server that asks for a longer pause gets it; where that is more than the time left, its
    error is raised at once.

    Args:
        request: to be made again as it is.
        seconds: time from the first attempt to the start of the last; 0 for one attempt.
        asked_to_wait: seconds the server asks for, 0 where it does not say; None for an error
            that another attempt would not cure.
        on_wait: told the error and the seconds, before each pause.
    """
    end, pause = time.monotonic() + seconds, FIRST_WAIT
    while True:
        try:
            return request()
        except Exception as error:
            asked, left = asked_to_wait(error), end - time.monotonic()
            if asked is None or left <= 0 or asked > left:
                raise
            wait = max(asked, min(pause, left))
            on_wait(error, wait)
        time.sleep(wait)
        pause = min(2 * pause, LONGEST_WAIT)
