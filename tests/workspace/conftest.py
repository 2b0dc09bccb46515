"""What tests of one user's documents, store and comparison start from: nothing configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _unconfigured(no_configuration: Path) -> None:
    """A developer's own variables decide nothing here."""
