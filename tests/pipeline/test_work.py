"""What is done for a unit depends on the recipe and the unit alone."""

import pytest
from llama_index.core import Document
from own_models import LettersEmbedding

from rag_nodes.core.errors import CredentialsError
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline.recipe import IngestRecipe, Origins
from rag_nodes.pipeline.units import DueFile, FileUnit
from rag_nodes.pipeline.work import work
from rag_nodes.readers import Limits


def test_a_unit_that_no_model_embeds_says_so_each_time_and_leaves_the_recipe_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def refuse(_: object, texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        raise CredentialsError("the key is wrong; give another one")

    monkeypatch.setattr(LettersEmbedding, "_get_text_embeddings", refuse)
    models = Models.of(embed_model=LettersEmbedding())
    recipe = IngestRecipe({"x": get_parser("fixed")}, models, (), Limits(), Origins([], {"x": ""}))
    tea = DueFile(0, document=Document(text="Green tea.", id_="tea"))
    unit = FileUnit((tea,), {}, {}, [None], {})
    first, second = work(recipe, unit), work(recipe, unit)
    assert asked == ["Green tea.", "Green tea."]
    assert first.columns[0].stopped == second.columns[0].stopped
    assert first.columns[0].stopped == "the key is wrong; give another one"
    assert first.columns[0].errors == second.columns[0].errors
