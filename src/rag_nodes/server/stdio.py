"""MCP over the standard streams of this process, as desktop clients start a server."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread
from mcp.server.stdio import stdio_server

from rag_nodes.core.processes import BackgroundThread, Interrupt, interruptible
from rag_nodes.server.tools import tool_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import TextIO

    from rag_nodes.operations.agents import StoredTools

_READ_BYTES = 1 << 16


def serve(tools: StoredTools, output: TextIO) -> None:
    """Serve until standard input ends.

    Args:
        tools: what is offered.
        output: stream of the protocol; nothing else may be written there.
    """
    asyncio.run(_serve(tools, output))


async def _serve(tools: StoredTools, output: TextIO) -> None:
    server = tool_server(tools, _call)
    given = cast("anyio.AsyncFile[str]", _lines(sys.stdin.fileno()))
    async with stdio_server(given, anyio.wrap_file(output)) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def _call(work: Callable[[], dict[str, Any]], _: object) -> dict[str, Any]:
    """Make a call in a thread, and end it once the agent cancels it or leaves."""
    interrupt = Interrupt()
    try:
        with interruptible(interrupt):
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
    except asyncio.CancelledError:
        interrupt.set()
        raise


async def _lines(number: int) -> AsyncIterator[str]:
    """Yield the lines of an open file.

    The SDK waits for its own thread to read: no signal would end the process before the agent
    closes the file. This thread can be left behind. It reads without the lock of a buffer, which
    the interpreter takes at its end.
    """
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[str | None]()

    def read() -> None:
        rest = b""
        with suppress(RuntimeError):  # the loop has ended
            while data := os.read(number, _READ_BYTES):
                *whole, rest = (rest + data).split(b"\n")
                for line in whole:
                    loop.call_soon_threadsafe(lines.put_nowait, line.decode("utf-8", "replace"))
            loop.call_soon_threadsafe(lines.put_nowait, None)

    BackgroundThread(read, "standard input").start()
    while (line := await lines.get()) is not None:
        yield line
