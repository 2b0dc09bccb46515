"""One function for many units: in this process, in several, or on Ray.

All keep the same protocol. Those with other processes share one loop, which decides what is done
again and who is retried in isolation where a process dies. Nothing here knows what is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.core.import_paths import lazy_getattr
from rag_nodes.models.executors.executor import Executor, Inline, LostUnit, usable_cores, working_on

if TYPE_CHECKING:
    from rag_nodes.models.executors.pool import Pool
    from rag_nodes.models.executors.ray import Ray

__all__ = ["Executor", "Inline", "LostUnit", "Pool", "Ray", "usable_cores", "working_on"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__ = lazy_getattr(__name__, {"pool": ["Pool"], "ray": ["Ray"]})
