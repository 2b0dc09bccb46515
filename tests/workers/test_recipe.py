from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hostile_models import impatient
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import TransformComponent
from own_models import LettersEmbedding, ParrotLLM

from rag_nodes.errors import ConfigurationError, ModelRequestError
from rag_nodes.models import Models
from rag_nodes.models.openai import OpenAIServerEmbedding
from rag_nodes.parsers import PRESETS, ForeignNodeParser, SemanticNodeParser, get_parser
from rag_nodes.readers import Limits
from rag_nodes.store.options import ServerAddress
from rag_nodes.transforms import (
    ChunkContext,
    FurtherVectors,
    NeighbourText,
    SectionSummary,
    identity_of,
)
from rag_nodes.workers import Recipe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import BaseNode
    from openai_server import OpenAIServer

CANARY = "sk-canary-0123456789"


def made_again(recipe: Recipe) -> Recipe:
    """The recipe after a way as JSON, its keys beside it."""
    return Recipe(**json.loads(json.dumps(recipe.plain())), keys=recipe.keys)


def test_every_preset_is_made_again_equal(models: Models) -> None:
    parsers = {name: get_parser(name) for name in PRESETS}
    made = made_again(Recipe.of(parsers, models)).make()
    assert {name: one.fingerprint for name, one in made.parsers.items()} == {
        name: one.fingerprint for name, one in parsers.items()
    }
    assert list(made.parsers) == list(parsers)


def test_limits_prices_and_names_are_made_again(models: Models) -> None:
    limits = Limits(pages=7, seconds=3.0)
    recipe = Recipe.of({"x": get_parser("fixed")}, models, limits=limits, prices={"m": (1.0, 2.0)})
    made = made_again(recipe).make()
    assert (made.limits, made.prices) == (limits, {"m": (1.0, 2.0)})
    assert made.models.embedding_name == models.embedding_name
    assert made.models.offline is models.offline


def test_a_parser_that_embeds_with_the_model_of_the_chunks_shares_it_again() -> None:
    model = LettersEmbedding(letters="abc")
    parser = SemanticNodeParser(embed_model=model)
    recipe = made_again(Recipe.of({"x": parser}, Models.of(embed_model=model)))
    made = recipe.make()
    found = made.parsers["x"]
    assert isinstance(found, SemanticNodeParser)
    assert found.embed_model is made.models.embedding
    assert found.fingerprint == parser.fingerprint
    assert len(recipe.models) == 1


def test_keys_travel_beside_the_recipe_and_are_never_shown() -> None:
    model = OpenAIServerEmbedding(
        model_name="m", api_base="http://127.0.0.1:9/v1", api_key=CANARY, dimensions=8
    )
    recipe = Recipe.of(
        {"x": get_parser("fixed")},
        Models.of(embed_model=model),
        address=ServerAddress.of("http://127.0.0.1:9", CANARY, None),
    )
    assert CANARY not in f"{recipe!r}{recipe}{json.dumps(recipe.plain())}"
    made = made_again(recipe).make().models.embedding
    assert isinstance(made, OpenAIServerEmbedding)
    assert (made.model_name, made.api_base, made.dimensions) == ("m", model.api_base, 8)
    assert made.given_keys["api_key"].get_secret_value() == CANARY


def test_workers_share_what_an_account_may_ask_in_a_minute() -> None:
    model = OpenAIServerEmbedding(
        model_name="m", api_key=CANARY, requests_per_minute=90, tokens_per_minute=1_000_000
    )
    recipe = Recipe.of({"x": get_parser("fixed")}, Models.of(embed_model=model))
    made = made_again(recipe.shared_by(4)).make().models.embedding
    assert isinstance(made, OpenAIServerEmbedding)
    assert (made.requests_per_minute, made.tokens_per_minute) == (22.5, 250_000)
    unlimited = Recipe.of({"x": get_parser("fixed")}, Models.of(embed_model="lexical"))
    assert unlimited.shared_by(4) == unlimited


def test_a_successor_asks_nothing_for_a_minute_as_the_dead_may_have_had_it_all(
    openai_server: OpenAIServer,
) -> None:
    limited = impatient(openai_server, requests_per_minute=4)
    recipe = Recipe.of({"x": get_parser("fixed")}, Models.of(embed_model=limited)).shared_by(2)
    assert made_again(recipe).make().models.embedding.get_text_embedding("tea")
    successor = made_again(recipe.successor()).make().models.embedding
    with pytest.raises(ModelRequestError, match="to be asked again in 6"):
        successor.get_text_embedding("tea")
    assert len(openai_server.asked("embeddings")) == 1


def test_a_model_that_takes_a_key_as_option_gets_it_again() -> None:
    model = LettersEmbedding(letters="xyz", api_key=CANARY)
    recipe = Recipe.of({"x": get_parser("fixed")}, Models.of(embed_model=model))
    assert CANARY not in f"{recipe!r}{json.dumps(recipe.plain())}"
    made = made_again(recipe).make().models.embedding
    assert isinstance(made, LettersEmbedding)
    assert (made.letters, made.api_key) == ("xyz", CANARY)


def test_a_splitter_of_another_package_is_sent_by_its_import_path(models: Models) -> None:
    path = "llama_index.core.node_parser:SentenceSplitter(chunk_size=64, chunk_overlap=0)"
    parser = ForeignNodeParser(path=path)
    made = made_again(Recipe.of({"x": parser}, models)).make()
    assert made.parsers["x"].fingerprint == parser.fingerprint


def test_a_splitter_that_is_an_object_is_refused_with_the_remedy(models: Models) -> None:
    with pytest.raises(ConfigurationError, match="import path"):
        Recipe.of({"x": SentenceSplitter()}, models)


def test_a_class_that_cannot_be_imported_is_refused(models: Models) -> None:
    class Local(SemanticNodeParser):
        """Of this function only."""

    with pytest.raises(ConfigurationError, match="file of its own"):
        Recipe.of({"x": Local()}, models)


def test_a_model_that_plain_data_do_not_make_is_refused() -> None:
    class LocalEmbedding(LettersEmbedding):
        """Of this function only."""

    with pytest.raises(ConfigurationError, match="import"):
        Recipe.of({"x": get_parser("fixed")}, Models.of(embed_model=LocalEmbedding()))


class Wrapping(BaseEmbedding):
    """Holds another model, which is no plain data."""

    inner: Any

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(len(text))]

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(len(query))]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return [float(len(query))]


def test_a_model_that_holds_an_object_is_refused_with_the_remedy() -> None:
    model = Models.of(embed_model=Wrapping(inner=LettersEmbedding()))
    with pytest.raises(ConfigurationError, match="without workers"):
        Recipe.of({"x": get_parser("fixed")}, model)


def test_a_transformation_of_plain_options_is_made_again(models: Models) -> None:
    recipe = Recipe.of(
        {"x": get_parser("fixed")}, models, transformations=[NeighbourText(tokens=9)]
    )
    (found,) = made_again(recipe).make().transformations
    assert isinstance(found, NeighbourText)
    assert found.tokens == 9


def test_names_of_further_embeddings_go_to_workers(models: Models) -> None:
    steps = [SectionSummary(), FurtherVectors("summary", "plain")]
    recipe = Recipe.of({"x": get_parser("fixed")}, models, transformations=steps)
    assert [identity_of(one) for one in made_again(recipe).make().transformations] == [
        identity_of(one) for one in steps
    ]


class Holding(TransformComponent):
    """Holds an object."""

    thing: Any = None

    def __call__(self, nodes: Sequence[BaseNode], **_: Any) -> list[BaseNode]:
        return list(nodes)


@pytest.mark.parametrize("step", [ChunkContext(llm=ParrotLLM()), Holding(thing=object())])
def test_a_transformation_with_a_model_is_refused(step: Any, models: Models) -> None:
    with pytest.raises(ConfigurationError, match="plain data"):
        Recipe.of({"x": get_parser("fixed")}, models, transformations=[step])
