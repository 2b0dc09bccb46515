"""Vectors that are paid for are kept by the model that made them."""

import importlib
import sys
from pathlib import Path

import pytest

from rag_nodes.models import Models
from rag_nodes.query.cache import VectorCache

MODEL = """
from llama_index.core import MockEmbedding
class Model(MockEmbedding):
    def _get_text_embedding(self, text):
        return [float(len(text)), 1.0]
"""


def test_vectors_of_a_model_whose_source_was_edited_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    kept: list[list[float]] = []
    for source in (MODEL, MODEL, MODEL.replace("1.0]", "2.0]")):
        (tmp_path / "own_cached_model.py").write_text(source)
        monkeypatch.delitem(sys.modules, "own_cached_model", raising=False)
        importlib.invalidate_caches()
        model = importlib.import_module("own_cached_model").Model(embed_dim=2)
        with VectorCache(tmp_path / "cache") as cache:
            models = cache.of(Models.of(embed_model=model))
            kept.append(models.embedding.get_text_embedding("tea"))
    assert kept == [[3.0, 1.0], [3.0, 1.0], [3.0, 2.0]]
