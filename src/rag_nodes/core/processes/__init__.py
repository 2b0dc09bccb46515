"""Work in child processes, so that a crash, a hang or a bomb ends the child and no more.

`Children` starts and keeps them, `serve` is what a child runs, an `Interrupt` lets another thread
end what a child works on, and `Leases` let a few work at once; a `pause` ends with the
work it is part of, and nobody waits for work `unless_interrupted` once it is to end. What works
says by `tell_share` how far it is. A `BackgroundThread` of this process has ended before the
interpreter does.
"""

from __future__ import annotations

from rag_nodes.core.processes.children import (
    Child,
    ChildDiedError,
    ChildExpiredError,
    Children,
    from_json,
    pack_error,
    to_json,
    unpack_error,
)
from rag_nodes.core.processes.interrupt import (
    Interrupt,
    Leases,
    current_interrupt,
    interruptible,
    pause,
    unless_interrupted,
)
from rag_nodes.core.processes.progress import shares_told_to, tell_share
from rag_nodes.core.processes.serving import Task, serve
from rag_nodes.core.processes.threads import BackgroundExecutor, BackgroundThread

__all__ = [
    "BackgroundExecutor",
    "BackgroundThread",
    "Child",
    "ChildDiedError",
    "ChildExpiredError",
    "Children",
    "Interrupt",
    "Leases",
    "Task",
    "current_interrupt",
    "from_json",
    "interruptible",
    "pack_error",
    "pause",
    "serve",
    "shares_told_to",
    "tell_share",
    "to_json",
    "unless_interrupted",
    "unpack_error",
]
