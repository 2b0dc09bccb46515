from __future__ import annotations

import re
from pathlib import Path

import pytest

from rag_nodes.store import Store

DOCS = Path(__file__).parents[2] / "docs" / "writing-a-store.md"


def test_the_store_in_the_docs_is_the_one_that_is_tested() -> None:
    [shown, _] = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert shown == Path(__file__).with_name("dict_store.py").read_text()


def test_a_store_that_lacks_a_method_cannot_be_made() -> None:
    class Half(Store):
        location = "nowhere"

    with pytest.raises(TypeError, match="put"):
        Half()  # type: ignore[abstract]
