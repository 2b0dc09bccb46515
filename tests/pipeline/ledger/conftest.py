"""A ledger of a collection in use, and a clock that stands still."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from rag_nodes.pipeline.ledger import CollectionRow, Ledger

USED = CollectionRow("c", "tea", "FixedSizeNodeParser", "f" * 8, "{}", "lexical")


@pytest.fixture
def clock() -> SimpleNamespace:
    return SimpleNamespace(now=100.0)


@pytest.fixture
def ledger(tmp_path: Path, clock: SimpleNamespace) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite", clock=lambda: clock.now) as opened:
        opened.use(USED)
        yield opened
