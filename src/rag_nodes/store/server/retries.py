"""Requests repeated after faults that pass.

All that is asked here may be asked twice: points are written and deleted by id, and a collection,
index or alias that is there already is fine.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from httpx import ConnectError, TimeoutException
from qdrant_client.http.exceptions import ResponseHandlingException

from rag_nodes.processes import pause

if TYPE_CHECKING:
    from collections.abc import Callable

    from httpx import Request, Response

FIRST_WAIT = 0.25
"""Seconds before the first repetition, at most; each further one waits twice as long."""
LONGEST_WAIT = 8.0
"""Seconds before any repetition, at most, where the server does not ask for more."""
LONGEST_ASKED = 60.0
"""Seconds that a server may ask to wait for."""
_FULL = 429
_FAULTS = range(500, 600)
_GRPC_TRIES = 5
"""As many as gRPC makes of one call, whatever it is told."""
_GRPC_BUFFER = 64 * 1024 * 1024
"""Bytes of a call that gRPC keeps for a repetition; it does not repeat larger ones."""


class Retries:
    """What repeats the requests of a client.

    Args:
        times: repetitions of one request, at most.
        patient: repeat refused connections too: the server has answered before, and restarts.
    """

    def __init__(self, times: int, *, patient: bool = True) -> None:
        self._times = times
        self._stands = TimeoutException if patient else (TimeoutException, ConnectError)

    def middleware(self, request: Request, send: Callable[[Request], Response]) -> Response:
        """Send a request as often as it takes, unless whoever asks is ended while it waits."""
        for turn in range(self._times):
            try:
                answer = send(request)
            except ResponseHandlingException as error:
                wait = self._after_error(error, turn)
                if wait is None:
                    raise
            else:
                wait = _after_answer(answer, turn)
                if wait is None:
                    return answer
            pause(wait)
        return send(request)

    def of_grpc(self) -> dict[str, Any]:
        """The same for calls by gRPC, which repeats by itself once it is told."""
        if not self._times:
            return {"grpc.enable_retries": 0}
        policy = {
            "maxAttempts": min(self._times + 1, _GRPC_TRIES),
            "initialBackoff": f"{FIRST_WAIT}s",
            "maxBackoff": f"{LONGEST_WAIT}s",
            "backoffMultiplier": 2,
            "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL"],
        }
        config = {"methodConfig": [{"name": [{}], "retryPolicy": policy}]}
        return {
            "grpc.enable_retries": 1,
            "grpc.service_config": json.dumps(config),
            "grpc.per_rpc_retry_buffer_size": _GRPC_BUFFER,
        }

    def _after_error(self, error: ResponseHandlingException, turn: int) -> float | None:
        """Seconds to wait; None for a request that was slow, as it would be again."""
        return None if isinstance(error.source, self._stands) else _backoff(turn)


def _after_answer(answer: Response, turn: int) -> float | None:
    """Seconds to wait; None for an answer that stands."""
    if answer.status_code == _FULL:
        asked = answer.headers.get("Retry-After", "")
        return min(float(asked), LONGEST_ASKED) if asked.isdecimal() else _backoff(turn)
    return _backoff(turn) if answer.status_code in _FAULTS else None


def _backoff(turn: int) -> float:
    """Twice as long each time, shortened at random so that many clients do not come back as one."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0**turn) * random.uniform(0.5, 1)  # noqa: S311 -- no secret
