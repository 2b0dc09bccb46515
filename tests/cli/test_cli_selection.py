"""`--parser` and `--set` to parsers."""

from __future__ import annotations

import pytest

from rag_nodes.cli.selection import select
from rag_nodes.errors import ConfigurationError
from rag_nodes.models import Models
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.parsers import COMPARED, ForeignNodeParser


class ElsewhereEmbedding(LexicalEmbedding):
    """A model that is not the parsers' own default."""

    @property
    def place(self) -> str:
        return "elsewhere"


def models(embedding: LexicalEmbedding) -> Models:
    return Models(
        embedding=embedding,
        llm=None,
        embedding_name="any",
        answer_name="extractive",
        offline=True,
    )


def test_no_choice_is_every_preset() -> None:
    assert list(select([]).build()) == list(COMPARED)


def test_one_strategy_can_appear_twice_with_other_options() -> None:
    built = select(["fixed", "fixed:chunk_size=500,chunk_overlap=50"]).build()
    assert list(built) == ["fixed", "fixed:chunk_size=500,chunk_overlap=50"]
    sizes = [(parser.chunk_size, parser.chunk_overlap) for parser in built.values()]  # type: ignore[attr-defined]
    assert sizes == [(1000, 200), (500, 50)]


def test_values_are_typed_by_the_field() -> None:
    options = "fixed:chunk_size=64,chunk_overlap=8,unit=tokens,include_metadata=false"
    (parser,) = select([options]).build().values()
    values = parser.to_dict()
    assert (values["chunk_size"], values["unit"]) == (64, "tokens")
    assert values["include_metadata"] is False


def test_set_changes_every_parser_that_has_the_option() -> None:
    built = select([], ["chunk_size=400", "breakpoint_percentile=90"]).build()
    assert {parser.to_dict()["chunk_size"] for parser in built.values()} == {400}
    assert built["semantic"].to_dict()["breakpoint_percentile"] == 90.0


def test_a_parsers_own_option_wins_over_set() -> None:
    built = select(["fixed:chunk_size=300", "heading"], ["chunk_size=400"]).build()
    assert built["fixed:chunk_size=300"].to_dict()["chunk_size"] == 300
    assert built["heading"].to_dict()["chunk_size"] == 400


@pytest.mark.parametrize(
    ("choices", "changes", "message"),
    [
        (["fixed:"], [], "NAME"),
        ([":chunk_size=5"], [], "NAME"),
        (["fixed:chunk_size"], [], "not OPTION=VALUE"),
        (["splitters:cut"], [], r"module:function\(option=value\) where a function makes it"),
        (["fixed:chunk_size=5,chunk_size=6"], [], "given twice"),
        (["fixed"], ["chunk_size="], "not OPTION=VALUE"),
        (["fixed"], ["a=1", "a=2"], "given twice"),
    ],
)
def test_bad_syntax_is_refused_with_an_explanation(
    choices: list[str], changes: list[str], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        select(choices, changes)


@pytest.mark.parametrize(
    ("choices", "changes", "message"),
    [
        (["fixd"], [], "unknown parser 'fixd'"),
        (["fixed", "fixed"], [], "named twice"),
        (["fixed:min_chunk_size=5"], [], "min_chunk_size"),
        (["semantic:embed_model=x"], [], "unknown option embed_model"),
        (["fixed"], ["breakpoint_percentile=50"], "no chosen parser has"),
        (["fixed:chunk_size=many"], [], "chunk_size"),
    ],
)
def test_what_no_parser_can_do_is_refused_with_an_explanation(
    choices: list[str], changes: list[str], message: str
) -> None:
    selection = select(choices, changes)
    with pytest.raises(ConfigurationError, match=message):
        selection.build()


def test_parsers_that_embed_use_the_chosen_model() -> None:
    model = ElsewhereEmbedding()
    built = select(["semantic", "fixed"]).build(models(model))
    assert built["semantic"].embed_model is model  # type: ignore[attr-defined]


def test_the_offline_model_keeps_the_parsers_own_fingerprint() -> None:
    default = select(["semantic"]).build()["semantic"]
    chosen = select(["semantic"]).build(models(LexicalEmbedding()))["semantic"]
    assert chosen.fingerprint == default.fingerprint


def test_an_embedding_named_for_the_parser_is_kept() -> None:
    built = select(["semantic:embedding=lexical"]).build(models(ElsewhereEmbedding()))
    assert built["semantic:embedding=lexical"].embed_model is None  # type: ignore[attr-defined]


def test_a_splitter_of_another_package_is_chosen_by_its_import_path() -> None:
    path = "llama_index.core.node_parser:SentenceSplitter(chunk_size=64, chunk_overlap=8)"
    selection = select([path, "fixed"], ["chunk_size=400", "chunk_overlap=100"])
    built = selection.build()
    assert list(built) == ["SentenceSplitter(chunk_size=64, chunk_overlap=8)", "fixed"]
    assert not select([path]).embeds
    foreign, ours = built.values()
    assert isinstance(foreign, ForeignNodeParser)
    assert (foreign.options["chunk_size"], foreign.options["chunk_overlap"]) == (64, 8)
    assert ours.chunk_size == 400  # type: ignore[attr-defined]


def test_a_foreign_splitter_named_twice_is_refused() -> None:
    path = "llama_index.core.node_parser:SentenceSplitter"
    with pytest.raises(ConfigurationError, match="named twice"):
        select([path, path]).build()
