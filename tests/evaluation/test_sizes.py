"""The same strategy at another size."""

from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, TextNode
from tests.evaluation.labelled import corpus

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.metadata import TOKEN_COUNT
from rag_nodes.evaluation.sizes import TOLERANCE, matched, mean_size, resized, token_counts
from rag_nodes.parsers import (
    PRESETS,
    ForeignNodeParser,
    RecursiveNodeParser,
    as_parser,
    get_parser,
    leaf_nodes,
)
from rag_nodes.text.tokens import count_tokens

DOCUMENTS = [
    Document(text="\n\n".join(document.text for document in corpus(6).documents), id_="long")
]
SIZED = [name for name in PRESETS if name != "sentence-window"]


@pytest.mark.parametrize("name", SIZED)
def test_chunks_of_every_preset_have_about_the_mean_size_that_is_asked_for(name: str) -> None:
    sized = matched(get_parser(name), DOCUMENTS, 100)
    nodes = sized.parser(DOCUMENTS)
    assert sized.mean == mean_size(nodes)
    assert sized.reached is (abs(sized.mean / 100 - 1) <= TOLERANCE)
    assert abs(sized.mean / 100 - 1) < 0.1
    assert max(token_counts(resized(get_parser(name), 60)(DOCUMENTS))) <= 60


def test_overlap_keeps_its_share_of_the_size() -> None:
    options = resized(get_parser("token-overlap", chunk_size=400, chunk_overlap=100), 80)
    assert (options.chunk_size, options.chunk_overlap) == (80, 20)


def test_a_splitter_of_llama_index_is_resized_too_and_the_given_one_stays_as_it_is() -> None:
    splitter = SentenceSplitter(chunk_size=512, chunk_overlap=64)
    smaller = matched(as_parser(splitter), DOCUMENTS, 90)
    assert smaller.reached
    assert splitter.chunk_size == 512
    path = "llama_index.core.node_parser:SentenceSplitter(chunk_size=1024, chunk_overlap=20)"
    sized = resized(ForeignNodeParser(path=path), 90)  # keeps a path that makes it again
    assert isinstance(sized, ForeignNodeParser)
    assert sized.path.startswith("llama_index.core.node_parser:SentenceSplitter(chunk_size=90")
    assert ForeignNodeParser(path=sized.path).fingerprint == sized.fingerprint


def test_single_sentences_have_no_size_to_change_and_it_says_so() -> None:
    with pytest.raises(ConfigurationError, match="single sentences"):
        resized(get_parser("sentence-window"), 100)
    with pytest.raises(ConfigurationError, match="no chunk_size"):
        resized(as_parser(lambda text: text.split("\n")), 100)


def test_a_size_that_cannot_be_reached_is_missed_as_little_as_can_be_and_said() -> None:
    short = [Document(text="One short line.", id_=f"s{number}") for number in range(3)]
    sized = matched(get_parser("recursive"), short, 300)
    assert not sized.reached
    assert sized.mean == mean_size(sized.parser(short))


def test_sizes_are_counted_in_the_encoding_of_budgets_whatever_the_parser_counts_in() -> None:
    parser = get_parser(
        "fixed", tokenizer="o200k_base", unit="tokens", chunk_size=50, chunk_overlap=0
    )
    nodes = parser(DOCUMENTS)
    counted = token_counts(nodes, parser.tokenizer)
    assert counted == [count_tokens(node.get_content()) for node in leaf_nodes(nodes)]


class SteppedNodeParser(RecursiveNodeParser):
    """Has chunks of 50 or of 150 tokens only."""

    def __call__(self, nodes: Sequence[BaseNode], **_: Any) -> list[BaseNode]:
        size = 150 if self.chunk_size >= 100 else 50
        return [TextNode(text="x", metadata={TOKEN_COUNT: size}) for _ in nodes]


@pytest.mark.parametrize(("target", "nearest"), [(90, 50), (110, 150)])
def test_the_nearest_size_is_taken(target: int, nearest: int) -> None:
    sized = matched(SteppedNodeParser(), DOCUMENTS, target)
    assert (sized.mean, sized.reached) == (nearest, False)


class Plain:
    """A splitter that is no model of pydantic."""

    def __init__(self, chunk_size: int) -> None:
        self._chunk_size, self._chunk_overlap = chunk_size, chunk_size // 4

    def split_text(self, text: str) -> list[str]:
        size = self._chunk_size
        return [text[at : at + size] for at in range(0, len(text), size)]


def test_a_splitter_of_anybody_is_resized_and_the_given_one_stays_as_it_is() -> None:
    splitter = Plain(400)
    other = resized(as_parser(splitter), 80)
    assert isinstance(other, ForeignNodeParser)
    assert (other.splitter._chunk_size, other.splitter._chunk_overlap) == (80, 20)
    assert (splitter._chunk_size, splitter._chunk_overlap) == (400, 100)


def test_a_parser_that_chooses_sizes_takes_the_one_it_is_given() -> None:
    chosen = dict(resized(get_parser("auto"), 200))
    assert (chosen["chunk_size"], chosen["choose_size"]) == (200, False)
    scaled = dict(resized(get_parser("recursive"), 200))
    assert (scaled["unit"], scaled["scale_by_script"]) == ("tokens", False)
