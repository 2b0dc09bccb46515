"""A parser that was written down or sent is made again, with the model that it named."""

import pickle
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from in_worker import TINY
from llama_index.core import MockEmbedding
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import Document
from tiny_onnx import write_model

from rag_nodes import SemanticNodeParser, SpanNodeParser, get_embedding, load_parser
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.models.openai import OpenAIServerEmbedding
from rag_nodes.parsers import PRESETS, get_parser
from rag_nodes.parsers.embedders import model_named

pytest_plugins = ["fixtures_openai"]
pytestmark = pytest.mark.usefixtures("no_configuration")

TEXT = "Green tea takes eighty degrees. The pump is red. Rinse the pump weekly. Mate is a taste."
WAYS: dict[str, Callable[[Any], Any]] = {
    "dict": lambda parser: type(parser).from_dict(parser.to_dict()),
    "JSON": lambda parser: type(parser).from_json(parser.to_json()),
    "load_parser": lambda parser: load_parser(parser.to_dict()),
    "pickle": lambda parser: pickle.loads(pickle.dumps(parser)),
    "copy": lambda parser: parser.model_copy(),
}


def same(rebuilt: SpanNodeParser, parser: SpanNodeParser) -> bool:
    document = Document(text=TEXT, id_="d")
    equal = rebuilt == parser and rebuilt.fingerprint == parser.fingerprint
    return equal and rebuilt([document]) == parser([document])


def model_of(parser: Any) -> BaseEmbedding:
    return model_named(parser.embedding, parser.embed_model)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_made_again(name: str, way: str) -> None:
    parser = get_parser(name)
    assert same(WAYS[way](parser), parser)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dimension", [1024, 64])
def test_a_lexical_model_is_made_again(way: str, dimension: int) -> None:
    parser = get_parser("semantic", embed_model=LexicalEmbedding(dimension=dimension))
    rebuilt = WAYS[way](parser)
    assert same(rebuilt, parser)
    assert model_of(rebuilt).model_name == f"lexical-{dimension}"


def test_the_model_of_a_parser_by_default_may_be_given_as_an_object() -> None:
    given = SemanticNodeParser(embed_model=get_embedding("lexical"))
    assert given.fingerprint == SemanticNodeParser().fingerprint


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("address", ["", "http://127.0.0.1:9/v1"])
@pytest.mark.parametrize("model", ["text-embedding-3-small", "@cf/baai/bge-base"])
def test_a_model_of_a_server_is_made_again_of_the_same_settings(
    way: str, address: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_NODES_API_KEY", "sk-x")
    monkeypatch.setenv("RAG_NODES_API_BASE", address)
    given = get_embedding(f"openai:{model}")
    parser = SemanticNodeParser(embed_model=given)
    rebuilt = WAYS[way](parser)
    assert rebuilt == parser
    embedding = model_of(rebuilt)
    assert isinstance(embedding, OpenAIServerEmbedding)
    assert (embedding.model_name, embedding.place) == (given.model_name, given.place)  # type: ignore[attr-defined]


def test_requests_beside_the_texts_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAG_NODES_API_KEY", "sk-x")
    monkeypatch.setenv("RAG_NODES_EMBEDDING_OPTIONS", '{"additional_kwargs": {"truncate": "END"}}')
    parser = SemanticNodeParser(embed_model=get_embedding("openai:tea"))
    embedding = model_of(SemanticNodeParser.from_dict(parser.to_dict()))
    assert (embedding.model_name, embedding.additional_kwargs) == ("tea", {"truncate": "END"})  # type: ignore[attr-defined]


def test_a_model_of_another_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_NODES_API_KEY", "sk-x")
    monkeypatch.setenv("RAG_NODES_API_BASE", "http://127.0.0.1:9/v1")
    written = SemanticNodeParser(embed_model=get_embedding("openai:tea")).to_dict()
    monkeypatch.setenv("RAG_NODES_API_BASE", "http://127.0.0.1:10/v1")
    parser = SemanticNodeParser.from_dict(written)
    with pytest.raises(ConfigurationError, match=r"served by 127\.0\.0\.1:9/v1, but"):
        parser([Document(text=TEXT)])


@pytest.mark.skipif(
    find_spec("fastembed") is None or find_spec("llama_index.embeddings.fastembed") is None,
    reason="the extra fastembed is not for this Python",
)
def test_a_local_model_is_named_so_that_it_can_be_made_again(tmp_path: Path) -> None:
    from rag_nodes.models.local import LocalEmbedding

    folder = str(write_model(tmp_path / "tiny"))
    parser = SemanticNodeParser(embed_model=LocalEmbedding(TINY, specific_model_path=folder))
    assert parser.embedding == f"fastembed:{TINY}"
    assert SemanticNodeParser.from_json(parser.to_json()) == parser


def test_a_model_of_another_class_has_to_be_given_again() -> None:
    own = MockEmbedding(embed_dim=3)
    parser = SemanticNodeParser(embed_model=own)
    again = SemanticNodeParser.from_dict(parser.to_dict(), embed_model=own)
    assert same(again, parser)
    with pytest.raises(ConfigurationError, match=r"MockEmbedding.*the model itself as embed"):
        SemanticNodeParser.from_dict(parser.to_dict())([Document(text=TEXT)])


NO_CALLBACKS: dict[str, Callable[[str], SpanNodeParser]] = {
    "constructor": lambda name: get_parser(name, callback_manager=None),
    "from_defaults": lambda name: PRESETS[name].parser.from_defaults(callback_manager=None),
    "copy": lambda name: get_parser(name).model_copy(update={"callback_manager": None}),
    "from_dict": lambda name: type(get_parser(name)).from_dict(
        {**get_parser(name).to_dict(), "callback_manager": None}
    ),
    "assignment": lambda name: _without_callbacks(get_parser(name)),
}


def _without_callbacks(parser: SpanNodeParser) -> SpanNodeParser:
    parser.callback_manager = None  # type: ignore[assignment] # as LlamaIndex's components may
    return parser


@pytest.mark.parametrize("way", NO_CALLBACKS)
@pytest.mark.parametrize("name", PRESETS)
async def test_a_parser_without_callbacks_splits(name: str, way: str) -> None:
    parser = NO_CALLBACKS[way](name)
    nodes = parser([Document(text=TEXT, id_="d")])
    assert nodes
    assert await parser.acall([Document(text=TEXT, id_="d")]) == nodes
