"""One function for many units: in this process, in several, or on Ray.

All keep the same protocol. Those with other processes share one loop, which decides what is done
again and who is blamed where a process dies. Nothing here knows what is done.
"""

from rag_nodes.executors.executor import Executor, Inline, LostUnit, usable_cores
from rag_nodes.executors.job import working_on
from rag_nodes.executors.pool import Pool
from rag_nodes.executors.ray import Ray

__all__ = ["Executor", "Inline", "LostUnit", "Pool", "Ray", "usable_cores", "working_on"]
