"""`rag-nodes mcp` as a desktop client starts it: a process of its own, spoken to by the SDK."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult

_KEPT = ("PATH", "PYTHONPATH", "LANG", "SYSTEMROOT", "VIRTUAL_ENV")
COMMAND = ("-m", "rag_nodes.cli", "mcp")


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """The few variables that a program needs, and others."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "HOME": str(folder), "NO_PROXY": "127.0.0.1", **variables}


@asynccontextmanager
async def mcp_process(
    folder: Path, *arguments: str, python: tuple[str, ...] = COMMAND, **variables: str
) -> AsyncIterator[ClientSession]:
    """Start a server in a folder; what it writes to stderr is in `stderr.txt` there.

    Args:
        folder: working directory and home.
        arguments: further words of the command.
        python: what Python runs.
        variables: of the environment, beside the few that a program needs.
    """
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[*python, *arguments],
        env=environment(folder, **variables),
        cwd=folder,
    )
    with (folder / "stderr.txt").open("w", encoding="utf-8") as errors:
        async with (
            stdio_client(parameters, errors) as (reading, writing),
            ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            yield session


def data(result: CallToolResult) -> dict[str, Any]:
    """The reply of a tool that did well."""
    assert not result.isError, result.content
    assert result.structuredContent is not None
    return result.structuredContent
