"""A ledger of a collection in use, and a clock that stands still."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from rag_nodes.ledger import CollectionRow, Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USED = CollectionRow("c", "tea", "FixedSizeNodeParser", "f" * 8, "{}", "lexical")


@pytest.fixture
def clock() -> SimpleNamespace:
    return SimpleNamespace(now=100.0)


@pytest.fixture
def ledger(tmp_path: Path, clock: SimpleNamespace) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite", clock=lambda: clock.now) as made:
        made.use(USED)
        yield made
