"""Tools for an operator of a store: see its contents, take documents out, find damage.

The store is the truth. A ledger, where there is one that agrees with it, answers faster, and knows
what a store does not: paths, times, errors.
"""

from rag_nodes.pipeline.pruning import Removed
from rag_nodes.pipeline.upkeep.changes import cleared, copied, documents_named, removed
from rag_nodes.pipeline.upkeep.doctor import Trouble, examined
from rag_nodes.pipeline.upkeep.inventory import (
    CollectionStatus,
    DocumentState,
    HeldCollection,
    Inventory,
    ListedDocument,
)

__all__ = [
    "CollectionStatus",
    "DocumentState",
    "HeldCollection",
    "Inventory",
    "ListedDocument",
    "Removed",
    "Trouble",
    "cleared",
    "copied",
    "documents_named",
    "examined",
    "removed",
]
