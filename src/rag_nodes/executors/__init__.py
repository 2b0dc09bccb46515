"""One function for many units: in this process, in several, or on Ray.

All keep the same protocol. Those with other processes share one loop, which decides what is done
again and who is blamed where a process dies. Nothing here knows what is done.
"""

from rag_nodes.executors.inline import Inline
from rag_nodes.executors.pool import Pool
from rag_nodes.executors.protocol import Executor, LostUnit
from rag_nodes.executors.recipe import PickledRecipe

__all__ = ["Executor", "Inline", "LostUnit", "PickledRecipe", "Pool"]
