"""Work for a process that was just started, and what it is to do there with what arrives."""

import logging
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from llama_index.core import Document
from llama_index.core.schema import BaseNode, TextNode, TransformComponent
from pydantic import PrivateAttr

from rag_nodes.embedding import identity_of
from rag_nodes.models.kept import KeptAnswers
from rag_nodes.models.pickling import unpickled

TINY = "tests/tiny"
TEXT = "The tank holds nine litres. Fill it before the first cup. Never use sand."

if find_spec("fastembed") is not None:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        model=TINY,
        pooling=PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(url="http://127.0.0.1:9/nowhere"),
        dim=2,
        model_file="model.onnx",
    )


class Stamp(TransformComponent):
    """A user's step whose word is in no field."""

    _word: str = PrivateAttr()

    def __init__(self, word: str = "", **fields: Any) -> None:
        super().__init__(**fields)
        self._word = word

    def __call__(self, nodes: Sequence[BaseNode], **_kwargs: Any) -> list[BaseNode]:
        for node in nodes:
            node.metadata["stamp"] = self._word
        return list(nodes)


def embed(data: bytes, text: str) -> tuple[list[float], dict[str, Any], str]:
    """The vector of a text, options, and all that can be seen of the model and was logged."""
    messages: list[str] = []
    listener = logging.Handler()
    listener.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(listener)
    logging.getLogger().setLevel(logging.DEBUG)
    model = unpickled(data)
    vector = model.get_query_embedding(text)
    shown = [repr(model), str(model.to_dict()), model.model_dump_json(), *messages]
    return vector, model.to_dict(), "\n".join(shown)


def complete(data: bytes) -> dict[str, Any]:
    """Options of an LLM that was asked."""
    llm = unpickled(data)
    llm.complete("ready?")
    return llm.to_dict()  # type: ignore[no-any-return]


def transform(data: bytes, texts: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Metadata of chunks with these texts behind transformations, and who these are."""
    nodes: Sequence[BaseNode] = [TextNode(text=text) for text in texts]
    steps = unpickled(data)
    for step in steps:
        nodes = step(nodes)
    return [node.metadata for node in nodes], [identity_of(step) for step in steps]


def parse(data: bytes, text: str) -> list[tuple[str, str]]:
    """Ids and texts of what parsers make of a text."""
    document = Document(text=text, id_="d")
    return [(node.node_id, node.text) for parser in unpickled(data) for node in parser([document])]


def write(path: Path, writer: int, count: int, size: int) -> None:
    """Long answers into a file into which others write."""
    kept = KeptAnswers(path)
    for number in range(count):
        kept.add(f"writer-{writer}", str(number), f"{writer}" * size)
