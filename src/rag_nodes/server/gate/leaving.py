"""What a client no longer waits for is ended: models are paid for by the word, cores are few."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from rag_nodes.processes import Interrupt, interruptible

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request


@asynccontextmanager
async def ended_by_leaving(request: Request) -> AsyncIterator[Interrupt]:
    """Have children that work for a request killed once its client has left.

    Args:
        request: whose body has been read.

    Yields:
        What is set then; `killing` adds to what it ends.
    """
    interrupt = Interrupt()
    watching = asyncio.create_task(_watch(request, interrupt))
    try:
        with interruptible(interrupt):
            yield interrupt
    finally:
        watching.cancel()


async def _watch(request: Request, interrupt: Interrupt) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    interrupt.set()
