from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hostile_models import impatient
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.extractors import SummaryExtractor
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import TransformComponent
from own_models import LettersEmbedding, ParrotLLM

from rag_nodes.errors import ConfigurationError, ModelRequestError
from rag_nodes.models import Models
from rag_nodes.models.openai import OpenAIServerEmbedding, OpenAIServerLLM
from rag_nodes.models.pacing import RequestWindow
from rag_nodes.parsers import PRESETS, ForeignNodeParser, SemanticNodeParser, get_parser
from rag_nodes.readers import Limits
from rag_nodes.store.options import ServerAddress
from rag_nodes.transforms import (
    ChunkContext,
    FurtherVectors,
    NeighbourText,
    SectionSummary,
    SummaryJournal,
    identity_of,
)
from rag_nodes.workers import Recipe

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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


class WrappingLLM(ParrotLLM):
    """Holds an object."""

    thing: Any = None
    key: Any = None


def telling(_: object = None) -> str:
    return "a prompt of its own"


REFUSED = [
    Holding(thing=object()),
    ChunkContext(llm=WrappingLLM(thing=object())),
    ChunkContext(llm=WrappingLLM(key=object())),
    ChunkContext(llm=ParrotLLM(messages_to_prompt=telling)),
    ChunkContext(llm=ParrotLLM(), requests_per_minute=RequestWindow(3)),
    ChunkContext(llm=ParrotLLM(), on_done=telling),
]


@pytest.mark.parametrize("step", REFUSED)
def test_a_transformation_of_objects_is_refused_with_the_remedy(step: Any, models: Models) -> None:
    with pytest.raises(ConfigurationError, match="without workers"):
        Recipe.of({"x": get_parser("fixed")}, models, transformations=[step])


def served_llm(**options: Any) -> OpenAIServerLLM:
    base = "http://127.0.0.1:9/v1"
    return OpenAIServerLLM(model="tea-1", api_base=base, api_key=CANARY, **options)


def test_an_llm_goes_to_workers_without_its_key_and_once_however_many_it_writes_for(
    models: Models, tmp_path: Path
) -> None:
    llm = served_llm(temperature=0.1, max_tokens=99)
    with SummaryJournal(tmp_path / "written.jsonl") as journal:
        options: dict[str, Any] = {"llm": llm, "journal": journal, "concurrency": 7}
        steps = [SectionSummary(**options, knowledge_base="Tea"), ChunkContext(**options)]
        recipe = Recipe.of({"x": get_parser("fixed")}, models, transformations=steps)
        assert recipe.journals == (str(journal.path),)
        assert CANARY not in f"{recipe!r}{recipe}{json.dumps(recipe.plain())}"
        made = made_again(recipe).make(journals={recipe.journals[0]: journal}).transformations
    assert [identity_of(one) for one in made] == [identity_of(one) for one in steps]
    summary, context = made
    assert isinstance(summary, SectionSummary)
    assert isinstance(context, ChunkContext)
    assert isinstance(summary.llm, OpenAIServerLLM)
    assert summary.llm is context.llm
    assert summary.llm.to_dict() == llm.to_dict()
    assert summary.llm.given_keys["api_key"].get_secret_value() == CANARY
    assert (summary.concurrency, summary.journal) == (7, journal)


def test_an_extractor_of_llamaindex_goes_to_workers_with_its_llm(models: Models) -> None:
    step = SummaryExtractor(llm=ParrotLLM(says="Tea."), summaries=["self"])
    recipe = Recipe.of({"x": get_parser("fixed")}, models, transformations=[step])
    (made,) = made_again(recipe).make().transformations
    assert isinstance(made, SummaryExtractor)
    assert isinstance(made.llm, ParrotLLM)
    assert made.llm.says == "Tea."
    assert identity_of(made) == identity_of(step)


def test_workers_share_what_an_llm_may_be_asked_and_embedders_what_they_embed() -> None:
    limits: dict[str, Any] = {"requests_per_minute": 90, "tokens_per_minute": 1_000_000}
    embedding = OpenAIServerEmbedding(model_name="m", api_key=CANARY, **limits)
    steps = [ChunkContext(served_llm(**limits), requests_per_minute=60)]
    models = Models.of(embed_model=embedding, llm="extractive")
    recipe = Recipe.of({"x": get_parser("fixed")}, models, transformations=steps)
    made = made_again(recipe.shared_by(10, embedding=2)).make()
    assert isinstance(made.models.embedding, OpenAIServerEmbedding)
    assert made.models.embedding.requests_per_minute == 45
    (step,) = made.transformations
    assert isinstance(step, ChunkContext)
    assert isinstance(step.llm, OpenAIServerLLM)
    assert (step.llm.requests_per_minute, step.llm.tokens_per_minute) == (9, 100_000)
    assert step.requests_per_minute == 6


def test_what_an_llm_may_be_asked_counts_as_asked_in_a_successor(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent: list[float | None] = []
    monkeypatch.setattr(RequestWindow, "spend", lambda self: spent.append(self.per_minute))
    steps = [ChunkContext(served_llm(requests_per_minute=4), requests_per_minute=6)]
    recipe = Recipe.of({"x": get_parser("fixed")}, models, transformations=steps)
    made_again(recipe).make()
    assert spent == []
    made_again(recipe.successor()).make()
    assert spent == [4, 6]
