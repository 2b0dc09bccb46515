from __future__ import annotations

import re
from pathlib import Path

import pytest

from rag_nodes.store import Engine

DOCS = Path(__file__).parents[2] / "docs" / "guides" / "custom-store.md"


def test_the_engine_in_the_docs_is_the_one_that_is_tested() -> None:
    [shown, _] = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert shown == Path(__file__).with_name("dict_engine.py").read_text()


def test_an_engine_that_lacks_a_method_cannot_be_made() -> None:
    class Half(Engine):
        location = "nowhere"

    with pytest.raises(TypeError, match="create"):
        Half()  # type: ignore[abstract]
