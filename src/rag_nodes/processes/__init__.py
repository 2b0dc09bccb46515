"""Work on hostile input in child processes: a crash, a hang or a bomb ends the child and no more.

`Children` starts and keeps them, `serve` is what a child runs, an `Interrupt` lets another thread
end what a child works on, and `Leases` let a few work at once; a `pause` ends with the
work it is part of.
"""

from __future__ import annotations

from rag_nodes.processes.children import ChildDiedError, ChildExpiredError, Children
from rag_nodes.processes.interrupt import (
    Interrupt,
    Leases,
    current_interrupt,
    interruptible,
    pause,
)
from rag_nodes.processes.serving import serve
from rag_nodes.processes.wire import pack_error, unpack_error

__all__ = [
    "ChildDiedError",
    "ChildExpiredError",
    "Children",
    "Interrupt",
    "Leases",
    "current_interrupt",
    "interruptible",
    "pack_error",
    "pause",
    "serve",
    "unpack_error",
]
