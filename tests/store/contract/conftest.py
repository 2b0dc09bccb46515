"""Every store there is: what the rest of the package counts on has to hold for each."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rag_nodes.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag_nodes.store import Store

_spec = importlib.util.spec_from_file_location(
    "dict_store", Path(__file__).parents[1] / "dict_store.py"
)
assert _spec is not None
assert _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)


@pytest.fixture(params=["memory", "folder", "server", "dictionary"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store of each kind. A new one is put to the contract by adding it here."""
    if request.param == "dictionary":
        opened: Store = _module.DictStore()
    elif request.param == "server":
        opened = open_store(request.getfixturevalue("server_url"))
    else:
        opened = open_store(":memory:" if request.param == "memory" else tmp_path / "store")
    with opened:
        yield opened
