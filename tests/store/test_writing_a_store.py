from __future__ import annotations

import pytest

from rag_nodes.store import Engine


def test_an_engine_that_lacks_a_method_cannot_be_made() -> None:
    class Half(Engine):
        location = "nowhere"

    with pytest.raises(TypeError, match="create"):
        Half()  # type: ignore[abstract]
