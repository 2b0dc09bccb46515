"""What workers did that died is counted, as this ingest has done it."""

from __future__ import annotations

from collections import Counter

from rag_nodes.ledger import DepositRow
from rag_nodes.pipeline.rows import FileRows
from rag_nodes.workers.merging import Done, Lost, merged_column
from rag_nodes.workers.messages import Paid, Settled


def test_chunks_that_a_worker_deleted_before_it_died_are_deleted_chunks_of_the_report() -> None:
    lost = Lost()
    for deleted in (2, 3):
        settled = Settled("c", (DepositRow("c", "a", "h", 1),), deleted)
        lost.take([settled, Settled("another", (), 7)], [], Paid(()))
    done = Done(FileRows(), [], {}, {}, Counter(), lost)

    assert merged_column("fixed", "c", done, model="m", prices={}).deleted == 5
