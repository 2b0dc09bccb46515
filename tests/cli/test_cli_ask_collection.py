"""`ask --collection`: a collection is asked by its name, or on a server by an alias of it."""

from contextlib import closing
from pathlib import Path

import pytest
from llama_index.core.schema import TextNode
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from qdrant_client.http import models as rest
from tests.cli.conftest import Command

from rag_nodes.models import get_embedding
from rag_nodes.operations import ExitCode

QUESTION = "How much does the tank hold?"


def ingest_manual(command: Command, manual: Path, place: object) -> dict[str, str]:
    """Ingest by two parsers; gives the collection of each by the parser's class."""
    parsers = ("-p", "heading", "-p", "fixed")
    assert command("ingest", manual, *parsers, "--store", place).code == ExitCode.DONE
    held = command("status", "--store", place, "--json").json["collections"]
    return {entry["parser"]: entry["name"] for entry in held}


@pytest.mark.parametrize("served", [False, True])
def test_each_collection_is_asked_by_its_name(
    command: Command, tmp_path: Path, manual: Path, url: str, served: bool
) -> None:
    place = url if served else tmp_path / "store"
    for parser, name in ingest_manual(command, manual, place).items():
        ask = ("ask", QUESTION, "--collection", name, "--store", place)
        asked = command(*ask, "--json").json
        assert "nine litres" in asked["text"]
        assert (asked["parser"], asked["collection"]) == (parser, name)
        assert asked["context_reduction"] is not None


def test_an_alias_on_a_server_is_asked_as_the_collection_that_it_means(
    command: Command, manual: Path, url: str
) -> None:
    name = ingest_manual(command, manual, url)["FixedSizeNodeParser"]
    alias = rest.CreateAlias(alias_name="handbook", collection_name=name)
    with closing(QdrantClient(url, check_compatibility=False)) as client:
        client.update_collection_aliases([rest.CreateAliasOperation(create_alias=alias)])
    asked = command("ask", QUESTION, "--collection", "handbook", "--store", url, "--json").json
    assert (asked["parser"], asked["collection"]) == ("FixedSizeNodeParser", name)
    assert asked["context_reduction"] is not None


def test_chunks_that_keyword_search_cannot_find_are_counted(
    command: Command, manual: Path, url: str
) -> None:
    name = ingest_manual(command, manual, url)["FixedSizeNodeParser"]
    text = "The reserve tank holds ninety litres."
    embedding = get_embedding("lexical").get_text_embedding(text)
    with closing(QdrantClient(url, check_compatibility=False)) as client:
        stock = QdrantVectorStore(name, client=client, index_doc_id=False)
        stock.add([TextNode(text=text, embedding=embedding)])
    ask = ("ask", "Which litres are in reserve?", "--collection", name, "--store", url)
    output = " ".join(command(*ask).stdout.split())
    assert "Not searched: 1 chunk that another program stored without a keyword vector" in output
    assert command(*ask, "--json").json["unsearched"] == 1
    answer = command(*ask, "--mode", "hybrid", "--json").json
    assert (answer["unsearched"], "ninety" in answer["text"]) == (0, True)


def test_a_collection_that_does_not_exist_is_refused_with_those_that_do(
    command: Command, tmp_path: Path, manual: Path
) -> None:
    store = tmp_path / "store"
    names = ingest_manual(command, manual, store).values()
    ended = command("ask", "?", "--collection", "nobody", "--store", store)
    assert ended.code == ExitCode.FAILURE
    message = " ".join(ended.stderr.split())
    assert f"there is no collection 'nobody'; there are: {', '.join(sorted(names))}" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--collection", "a", "-p", "heading"), "leave one of them out"),
        (("--collection", " "), "--collection: must not be blank"),
    ],
)
def test_a_contradictory_or_blank_collection_is_refused(
    command: Command, tmp_path: Path, manual: Path, arguments: tuple[str, ...], message: str
) -> None:
    ingest_manual(command, manual, tmp_path / "store")
    ended = command("ask", "?", *arguments, "--store", tmp_path / "store")
    assert ended.code == ExitCode.USAGE
    assert message in " ".join(ended.stderr.split())


def test_a_collection_of_another_embedding_model_is_not_asked(
    command: Command, tmp_path: Path, manual: Path
) -> None:
    store = tmp_path / "store"
    name = ingest_manual(command, manual, store)["HeadingHierarchyNodeParser"]
    other = ("--embedding", "own_models:LettersEmbedding", "--embedding-option", "letters=tank")
    ended = command("ask", "?", "--collection", name, "--store", store, *other)
    assert ended.code == ExitCode.USAGE
    message = " ".join(ended.stderr.split())
    assert f"collection {name} was embedded with lexical-1024, not" in message
