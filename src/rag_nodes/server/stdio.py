"""MCP over the standard streams of this process, as desktop clients start a server."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread
from mcp.server.stdio import stdio_server

from rag_nodes.core.processes import BackgroundThread, Interrupt, interruptible
from rag_nodes.server.tools import tool_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from typing import TextIO

    from rag_nodes.operations.agents import StoredTools

_READ_BYTES = 1 << 16


def serve(tools: StoredTools, output: TextIO) -> None:
    """Serve until standard input ends, or a signal asks for the end.

    A signal is handled once the loop has ended, by the handler that the process has for it: raised
    in the middle of the loop, an exception might come out as another one.

    Args:
        tools: what is offered.
        output: stream of the protocol; nothing else may be written there.
    """
    names = ("SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    handlers = {number: signal.getsignal(number) for number in numbers}
    heard = [number for number, handler in handlers.items() if handler != signal.SIG_IGN]
    came: list[int] = []
    with suppress(asyncio.CancelledError):
        asyncio.run(_serve(tools, output, heard, came))
    for number in came:
        signal.signal(number, handlers[number])
        signal.raise_signal(number)


async def _serve(tools: StoredTools, output: TextIO, heard: Iterable[int], came: list[int]) -> None:
    loop, serving = asyncio.get_running_loop(), asyncio.current_task()

    def end(number: int) -> None:
        came.append(number)
        if serving:
            serving.cancel()

    with suppress(NotImplementedError):  # on Windows
        for number in heard:
            loop.add_signal_handler(number, end, number)
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
