"""Events that wait in Gradio's queue: those of one visitor leave room for those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_nodes.workspace.addresses import is_loopback

if TYPE_CHECKING:
    from fastapi import Request
    from gradio.data_classes import PredictBodyInternal
    from gradio.queueing import Queue

MOST_WAITING = 20
"""Events of one visitor that may wait; a page has a few at most, a script as many as it likes."""
TOO_MANY = "Too much of yours is waiting already: wait for the answers."
NO_EVENT = "There is no such event: reload the page."


def share_fairly(queue: Queue) -> None:
    """Let no visitor fill the queue, and refuse events in words that the page does not have.

    A visitor is an address: what a proxy that was named says, see `launch`. Behind one on this
    machine that was not, all have the same, as they have where only this machine is served; there
    each browser tab counts for itself.

    Args:
        queue: of the blocks.
    """
    push = queue.push

    async def push_fairly(body: PredictBodyInternal, request: Request, username: str | None) -> Any:
        if body.fn_index not in queue.blocks.fns:
            return False, NO_EVENT, "error"
        if _waiting(queue, _visitor(request, body.session_hash)) >= MOST_WAITING:
            return False, TOO_MANY, "queue_full"
        return await push(body=body, request=request, username=username)

    queue.push = push_fairly  # type: ignore[method-assign]


def _waiting(queue: Queue, visitor: str) -> int:
    return sum(
        _visitor(event.request, event.session_hash) == visitor
        for events in queue.event_queue_per_concurrency_id.values()
        for event in events.queue
    )


def _visitor(request: Request, tab: str | None) -> str:
    address = request.client.host if request.client else ""
    return f"tab {tab}" if not address or is_loopback(address) else address
