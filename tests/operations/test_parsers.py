"""`--parser` to parsers."""

import json
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, ClassVar

import pytest
from llama_index.core.node_parser import SentenceSplitter, TextSplitter, TokenTextSplitter
from pydantic import ValidationError

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.models import Models
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.operations.comparing import CompareRequest
from rag_nodes.operations.fields import ParserSpec
from rag_nodes.operations.parsers import make_offered, make_parsers
from rag_nodes.parsers import (
    COMPARED,
    PRESETS,
    ForeignNodeParser,
    SpanNodeParser,
    as_parser,
    get_parser,
    load_parser,
    offered,
)
from rag_nodes.parsers.foreign import parser_at
from rag_nodes.parsers.loading import data_of, spec_of
from rag_nodes.parsers.source import ChunkSpan, SourceText

STOCK = "llama_index.core.node_parser:SentenceSplitter(chunk_size=64, chunk_overlap=8)"


class ElsewhereEmbedding(LexicalEmbedding):
    """A model that is not the parsers' own default."""

    @property
    def place(self) -> str:
        return "elsewhere"


def build_parsers(
    *choices: str, embedding: LexicalEmbedding | None = None
) -> dict[str, SpanNodeParser]:
    """The parsers as they are typed with `--parser`."""
    typed: dict[str, object] = {"question": "Why?"}
    request = CompareRequest.model_validate(typed | ({"parsers": choices} if choices else {}))
    model = Models.of(embed_model=embedding).sentence_model if embedding else None
    return make_parsers(request.parsers, lambda: model)


def test_no_choice_is_every_preset() -> None:
    assert list(build_parsers()) == list(COMPARED)


def test_one_strategy_can_appear_twice_with_other_options() -> None:
    parsers = build_parsers("fixed", "fixed:chunk_size=500,chunk_overlap=50")
    assert list(parsers) == ["fixed", "fixed:chunk_size=500,chunk_overlap=50"]
    sizes = [(parser.chunk_size, parser.chunk_overlap) for parser in parsers.values()]  # type: ignore[attr-defined]
    assert sizes == [(1000, 200), (500, 50)]


def test_values_are_typed_by_the_field() -> None:
    options = "fixed:chunk_size=64,chunk_overlap=8,unit=tokens,include_metadata=false"
    (parser,) = build_parsers(options).values()
    values = parser.to_dict()
    assert (values["chunk_size"], values["unit"]) == (64, "tokens")
    assert values["include_metadata"] is False


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (["fixed:"], "NAME"),
        ([":chunk_size=5"], "NAME"),
        (["fixed:chunk_size"], "not OPTION=VALUE"),
        (["splitters:cut"], r"module:function\(option=value\) where a function makes it"),
        (["fixed:chunk_size=5,chunk_size=6"], "given twice"),
        (["fixed:chunk_size="], "not OPTION=VALUE"),
        (["fixd"], "unknown parser 'fixd'"),
        (["fixed", "fixed"], "named twice"),
        (["fixed:min_chunk_size=5"], "min_chunk_size"),
        (["semantic:embed_model=x"], "unknown option embed_model"),
        (["retrieval:chunksize=3"], "unknown option chunksize; did you mean chunk_size"),
        (["fixed:chunk_size=many"], "chunk_size"),
    ],
)
def test_wrong_parsers_and_options_are_refused_with_an_explanation(
    choices: list[str], message: str
) -> None:
    with pytest.raises((ConfigurationError, ValidationError), match=message):
        build_parsers(*choices)


def test_parsers_that_embed_use_the_chosen_model() -> None:
    model = ElsewhereEmbedding()
    parsers = build_parsers("semantic", "fixed", embedding=model)
    assert parsers["semantic"].embed_model is model  # type: ignore[attr-defined]


def test_the_offline_model_keeps_the_parsers_own_fingerprint() -> None:
    default = build_parsers("semantic")["semantic"]
    chosen = build_parsers("semantic", embedding=LexicalEmbedding())["semantic"]
    assert chosen.fingerprint == default.fingerprint


def test_an_embedding_named_for_the_parser_is_kept() -> None:
    parsers = build_parsers("semantic:embedding=lexical", embedding=ElsewhereEmbedding())
    assert parsers["semantic:embedding=lexical"].embed_model is None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "parser",
    [
        *map(get_parser, PRESETS),
        get_parser("retrieval", chunk_size=300, scale_by_script=True),
        get_parser("recursive", unit="tokens", chunk_size=100, chunk_overlap=0),
        get_parser("heading", chunk_size=200, min_chunk_size=20, include_metadata=False),
        get_parser("semantic", breakpoint_percentile=80.5, language="de"),
    ],
    ids=spec_of,
)
def test_a_parser_is_made_again_from_how_it_is_typed(parser: SpanNodeParser) -> None:
    typed = spec_of(parser)
    assert build_parsers(typed)[typed].fingerprint == parser.fingerprint
    assert load_parser(parser.to_dict()) == parser


def test_a_preset_is_typed_by_its_name_and_another_parser_after_a_preset() -> None:
    assert [spec_of(get_parser(name), name) for name in PRESETS] == list(PRESETS)
    sized = get_parser("retrieval", chunk_size=300)
    assert spec_of(sized, "retrieval") == "retrieval:chunk_size=300"
    assert spec_of(sized, "mine").startswith("recursive:")
    assert spec_of(get_parser("parent-child", parent_options={"chunk_size": 900})) == ""


class Lines(SpanNodeParser):
    """A parser of the user's own, whose smallest number of lines has no default."""

    lines: int

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        yield ChunkSpan(0, len(source.text))


@pytest.mark.parametrize(
    ("splitter", "path"),
    [
        (SentenceSplitter(), "llama_index.core.node_parser.text.sentence:SentenceSplitter()"),
        (
            TokenTextSplitter(chunk_size=99),
            "llama_index.core.node_parser.text.token:TokenTextSplitter(chunk_size=99)",
        ),
        (Lines(lines=3), ""),
        (parser_at(STOCK), STOCK),
        (SentenceSplitter(tokenizer=str.split), ""),  # no path has a function as an option
        (str.splitlines, ""),
    ],
    ids=[
        "stock",
        "other size",
        "own",
        "stock by path",
        "function inside",
        "function",
    ],
)
def test_a_splitter_is_named_by_the_path_that_makes_the_same(splitter: object, path: str) -> None:
    parser = as_parser(splitter)
    assert spec_of(parser) == path
    data = data_of(parser, path)
    assert bool(data) == bool(path)
    if data:
        restored = load_parser(json.loads(json.dumps(data)))
        assert restored.fingerprint == parser.fingerprint  # type: ignore[attr-defined]
        assert build_parsers(path).popitem()[1].fingerprint == parser.fingerprint


class Remote(TextSplitter):
    """A splitter that needs a key and counts how often one is made."""

    chunk_size: int = 512
    access_key: str = ""
    address: str = ""
    made: ClassVar[int] = 0

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        type(self).made += 1

    def split_text(self, text: str) -> list[str]:
        return text.splitlines()


SECRETS = [{"access_key": "hush"}, {"address": "https://anna:hush@example.com"}]


@pytest.mark.parametrize("options", SECRETS, ids=str)
def test_a_splitter_of_ones_own_is_not_made_again_and_its_secrets_are_not_written(
    options: dict[str, str],
) -> None:
    parser = as_parser(Remote(chunk_size=99, **options))
    made = Remote.made
    assert (spec_of(parser), data_of(parser, "")) == ("", {})
    assert Remote.made == made
    assert "hush" not in json.dumps(parser.to_dict())


def test_a_splitter_of_ones_own_keeps_the_path_that_was_given() -> None:
    path = f"{__name__}:Remote( chunk_size=99 )"
    assert spec_of(parser_at(path)) == path


@pytest.mark.parametrize("options", SECRETS, ids=str)
def test_no_path_of_a_splitter_of_llama_index_holds_a_secret(
    options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    package = ModuleType("llama_index.remote")
    package.Remote = Remote  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, package.__name__, package)
    monkeypatch.setattr(Remote, "__module__", package.__name__)
    named = "llama_index.remote:Remote(chunk_size=99)"
    assert spec_of(as_parser(Remote(chunk_size=99))) == named
    assert spec_of(as_parser(Remote(chunk_size=99, **options))) == ""


def test_a_splitter_of_another_package_is_chosen_by_its_import_path() -> None:
    path = "llama_index.core.node_parser:SentenceSplitter(chunk_size=64, chunk_overlap=8)"
    parsers = build_parsers(path, "fixed:chunk_size=400")
    assert list(parsers) == [
        "SentenceSplitter(chunk_size=64, chunk_overlap=8)",
        "fixed:chunk_size=400",
    ]
    foreign, ours = parsers.values()
    assert isinstance(foreign, ForeignNodeParser)
    assert (foreign.options["chunk_size"], foreign.options["chunk_overlap"]) == (64, 8)
    assert ours.chunk_size == 400  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("row", "typed"),
    [
        ("semantic at 200", "semantic:chunk_size=200,min_chunk_size=25"),
        ("retrieval at 400", 'retrieval:chunk_size=400"'),
        ("token-overlap at 100", "token-overlap:chunk_size=100,chunk_overlap=0,"),
    ],
)
def test_the_name_of_a_row_is_refused_with_the_parser_that_it_means(row: str, typed: str) -> None:
    with pytest.raises(ConfigurationError, match=rf'a report; write -p "{typed}') as refused:
        build_parsers(row)
    [spec] = re.findall('-p "([^"]+)"', str(refused.value))
    assert list(build_parsers(spec)) == [spec]


@pytest.mark.parametrize(
    "row", ["parent-child at 200", "heading at 0", "sentence-window at 200", "fixed at equal size"]
)
def test_the_name_of_a_row_that_cannot_be_typed_points_to_the_report(row: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        build_parsers(row)
    assert str(refused.value) == (
        f"'{row}' is the name of a row of a report; write the -p of the row in the report of "
        "--html, if it has one"
    )


@pytest.mark.parametrize("other", ["nosuch at 200", "semantic at home"])
def test_another_unknown_name_is_no_row(other: str) -> None:
    with pytest.raises(ConfigurationError, match="unknown parser"):
        build_parsers(other)


def test_a_foreign_splitter_named_twice_is_refused() -> None:
    path = "llama_index.core.node_parser:SentenceSplitter"
    with pytest.raises(ConfigurationError, match="named twice"):
        build_parsers(path, path)


# --- what strangers may name --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (ParserSpec(name="llama_index.core.node_parser:SentenceSplitter"), "unknown parser"),
        (ParserSpec(name="/etc/presets"), "unknown parser"),
        (ParserSpec(name="fixed", options={"chunk_size": 3, "chunk_overlap": 0}), "at least 20"),
        (ParserSpec(name="fixed", options={"chunk_size": 10**8}), "at most 100,000"),
        (ParserSpec(name="fixed", options={"chunk_size": 40, "chunk_overlap": 39}), "three quart"),
        (ParserSpec(name="fixed", options={"unit": "/etc"}), "one of"),
        (
            ParserSpec(name="semantic", options={"embedding": "openai"}),
            "cannot be set by a request",
        ),
        (ParserSpec(name="sentence-window", options={"window": 1000}), "window must be at most"),
    ],
    ids=str,
)
def test_a_stranger_names_what_is_on_offer_with_numbers_and_choices(
    spec: ParserSpec, why: str
) -> None:
    with pytest.raises(ConfigurationError, match=why):
        make_offered([spec], offered(), lambda: None)


def test_a_stranger_compares_a_few_parsers() -> None:
    spec = ParserSpec(name="fixed", options={"chunk_size": 300, "unit": "tokens"})
    ((label, parser),) = make_offered([spec], offered(), lambda: None).items()
    assert (label, parser.chunk_size) == ("fixed:chunk_size=300,unit=tokens", 300)  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match="at most 4 can be compared"):
        make_offered(
            [ParserSpec(name=name) for name in list(offered())[:5]], offered(), lambda: None
        )
