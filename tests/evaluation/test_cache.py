"""Vectors that are paid for are kept by the model that made them."""

from contextlib import ExitStack
from pathlib import Path

from llama_index.core import MockEmbedding

from rag_nodes.evaluation.cache import cached
from rag_nodes.models import Models


class Steady(MockEmbedding):
    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(len(text)), 1.0]


class Edited(Steady):
    def _get_text_embedding(self, text: str) -> list[float]:
        return [1.0, float(len(text))]


def test_vectors_of_a_model_that_was_edited_are_made_anew(tmp_path: Path) -> None:
    Edited.__name__ = Edited.__qualname__ = "Steady"
    kept: list[list[float]] = []
    for kind in (Steady, Steady, Edited):
        with ExitStack() as opened:
            models = cached(Models.of(embed_model=kind(embed_dim=2)), tmp_path, opened)
            kept.append(models.embedding.get_text_embedding("tea"))
    assert kept == [[3.0, 1.0], [3.0, 1.0], [1.0, 3.0]]
