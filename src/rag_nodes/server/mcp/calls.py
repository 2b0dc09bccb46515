"""What every call of a tool has: places, an agent that may leave, and errors it can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from mcp.server.fastmcp import Context
from mcp.server.fastmcp.exceptions import ToolError
from pydantic import ValidationError
from starlette.requests import Request

from rag_nodes.errors import RagNodesError
from rag_nodes.server.failures import misfits, public
from rag_nodes.server.workers import ended_by_leaving

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rag_nodes.parsers import Preset
    from rag_nodes.server.workers import Workers
    from rag_nodes.settings import Settings

Reply = TypeVar("Reply")
CallContext = Context[Any, Any, Any]


class Calls:
    """What tools share.

    Args:
        settings: models, store and corpus.
        workers: threads for what blocks.
        offer: parsers that may be named.
    """

    def __init__(self, settings: Settings, workers: Workers, offer: Mapping[str, Preset]) -> None:
        self._settings = settings
        self._offer = offer
        self._workers = workers

    async def _run(self, context: CallContext, work: Callable[[], Reply]) -> Reply:
        """Do it in a thread as long as the agent waits; errors become what it may read."""
        request = context.request_context.request
        if not isinstance(request, Request):
            raise TypeError(f"a call over HTTP brings its request, not {type(request).__name__}")
        caller = self._workers.address(request.client.host if request.client else "")
        try:
            async with ended_by_leaving(request):
                return await self._workers.run(caller, work)
        except ValidationError as error:
            said = misfits(error.errors(include_url=False, include_input=False))
            raise ToolError(said) from None
        except RagNodesError as error:
            raise ToolError("; ".join(public(error)[1:])) from None
