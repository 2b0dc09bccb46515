"""Files in, readings out, read by a child process: a crash, a hang or a bomb is one failed file."""

from rag_nodes.readers.isolation.parent import LIBRARIES, ReaderPool, needs_child, pool

__all__ = ["LIBRARIES", "ReaderPool", "needs_child", "pool"]
