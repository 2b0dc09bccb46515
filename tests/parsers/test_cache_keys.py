"""LlamaIndex's cache keys, fingerprints and pickles of any configuration, not only of presets."""

import os
import pickle
import subprocess
import sys
from typing import Any, Literal, NamedTuple, get_args, get_origin

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from llama_index.core.ingestion.pipeline import get_transformation_hash
from llama_index.core.node_parser import TokenTextSplitter
from llama_index.core.schema import Document
from pydantic.fields import FieldInfo

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.parsers import PRESETS, SpanNodeParser, as_parser, get_parser

NODES = [Document(text="x")]
CLASSES = list(dict.fromkeys(preset.parser for preset in PRESETS.values()))
NO_CONFIGURATION = {"id_func", "callback_manager", "embed_model", "sentence_model"}
"""Fields that are never part of the data."""
COSMETIC = {"include_metadata", "include_prev_next_rel"}
"""Options that change neither spans nor ids, though they do change what a cache must hold."""

SIZES = {"chunk_size", "max_tokens", "window", "split_only_if_over"}
BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    "tokenizer": st.sampled_from(["cl100k_base", "o200k_base", "chars", "estimate"]),
    "language": st.sampled_from(["auto", "en", "de", "fr"]),
    "embedding": st.sampled_from(["lexical", "openai:text-embedding-3-small", "openai:other"]),
    "separators": st.lists(
        st.sampled_from(["\n\n", "\n", ". ", "; ", " "]), min_size=1, unique=True
    ).map(tuple),
    "always_at": st.sampled_from([None, r"^#", r"^\*\*\*"]),
    "parent": st.sampled_from(["heading", "page"]),
    "child": st.sampled_from(["token-overlap", "sentence"]),
    "parent_options": st.fixed_dictionaries({}, optional={"chunk_size": st.integers(900, 909)}),
    "child_options": st.fixed_dictionaries({}, optional={"chunk_size": st.integers(300, 309)}),
}
"""Values of options that are more than a number or a choice."""


class Configuration(NamedTuple):
    parser: type[SpanNodeParser]
    options: dict[str, Any]

    def build(self) -> SpanNodeParser:
        try:
            return self.parser(**self.options)
        except ConfigurationError:
            assume(False)
            raise


def options_of(parser: type[SpanNodeParser]) -> dict[str, FieldInfo]:
    fields = parser.model_fields
    return {name: field for name, field in fields.items() if name not in NO_CONFIGURATION}


def values_of(name: str, field: FieldInfo) -> st.SearchStrategy[Any]:
    """Valid values of one option, near each other so that draws also agree."""
    if name in BY_NAME:
        return BY_NAME[name]
    if get_origin(field.annotation) is Literal:
        return st.sampled_from(get_args(field.annotation))
    if field.annotation is bool:
        return st.booleans()
    if field.annotation is float:
        return st.sampled_from([0.0, 0.5, 1.0, 75.0, 99.5])
    if int in (field.annotation, *get_args(field.annotation)):
        return st.integers(600, 605) if name in SIZES else st.integers(1, 6)
    raise AssertionError(f"say in BY_NAME what values {name} may have")


def configurations_of(parser: type[SpanNodeParser]) -> st.SearchStrategy[Configuration]:
    values = {name: values_of(name, field) for name, field in options_of(parser).items()}
    return st.fixed_dictionaries({}, optional=values).map(
        lambda options: Configuration(parser, options)
    )


CONFIGURATIONS = st.sampled_from(CLASSES).flatmap(configurations_of)


def key_of(parser: SpanNodeParser) -> str:
    return get_transformation_hash(NODES, parser)


def read_options(parser: SpanNodeParser, *, without: set[str] = frozenset()) -> tuple[object, ...]:
    """All options of a parser, read one by one and not through what the key is made of."""
    names = sorted(options_of(type(parser)).keys() - without)
    return (type(parser), *[(name, repr(getattr(parser, name))) for name in names])


@given(drawn=st.lists(CONFIGURATIONS, min_size=2, max_size=12))
def test_cache_keys_are_equal_exactly_where_all_options_are(drawn: list[Configuration]) -> None:
    parsers = [configuration.build() for configuration in drawn]
    pairs = [(a, b) for a in parsers for b in parsers]
    for a, b in pairs:
        assert (key_of(a) == key_of(b)) is (read_options(a) == read_options(b)) is (a == b)
        same_output = read_options(a, without=COSMETIC) == read_options(b, without=COSMETIC)
        assert (a.fingerprint == b.fingerprint) is same_output


@given(data=st.data())
def test_changing_any_one_option_changes_the_cache_key(data: st.DataObject) -> None:
    parser = data.draw(CONFIGURATIONS).build()
    name = data.draw(st.sampled_from(sorted(options_of(type(parser)))))
    value = data.draw(values_of(name, type(parser).model_fields[name]))
    other = Configuration(
        type(parser),
        {**{option: getattr(parser, option) for option in options_of(type(parser))}, name: value},
    ).build()
    assume(getattr(other, name) != getattr(parser, name))
    assert key_of(other) != key_of(parser)
    assert (other.fingerprint == parser.fingerprint) is (name in COSMETIC)


@given(configuration=CONFIGURATIONS, data=st.data())
def test_the_order_of_options_and_a_detour_over_data_or_pickle_keep_the_key(
    configuration: Configuration, data: st.DataObject
) -> None:
    parser = configuration.build()
    order = data.draw(st.permutations(list(configuration.options)))
    shuffled = type(parser)(**{name: configuration.options[name] for name in order})
    copies = (
        shuffled,
        type(parser).from_dict(parser.to_dict()),
        pickle.loads(pickle.dumps(parser)),
        parser.model_copy(),
    )
    for copy in copies:
        assert key_of(copy) == key_of(parser)
        assert copy.fingerprint == parser.fingerprint


def test_cache_keys_are_unique_over_all_presets() -> None:
    assert len({key_of(get_parser(name)) for name in PRESETS}) == len(PRESETS)


@pytest.mark.parametrize("parser", CLASSES)
def test_the_key_knows_every_option_of_a_class(parser: type[SpanNodeParser]) -> None:
    assert options_of(parser).keys() <= parser().to_dict().keys()


def test_parsers_pickled_or_made_again_split_the_same_in_a_spawned_process_and_need_no_nltk() -> (
    None
):
    text = "\n\n".join(f"## Part {n}\n\nSaid of part {n}. More of {n}." for n in range(40))
    document = Document(text=text, id_="d")
    parsers = {name: get_parser(name) for name in PRESETS}
    code = (
        "import pickle, sys\n"
        "document, parsers = pickle.load(sys.stdin.buffer)\n"
        "from rag_nodes.parsers import get_parser\n"
        "before = 'nltk.tokenize.punkt' in sys.modules\n"
        "made = [{name: [node.to_dict() for node in parser([document])]\n"
        "    for name, parser in some.items()}\n"
        "    for some in (parsers, {name: get_parser(name) for name in parsers})]\n"
        "made.append(before or 'nltk.tokenize.punkt' not in sys.modules)\n"
        "from llama_index.core.node_parser import TokenTextSplitter\n"
        "from rag_nodes.parsers import as_parser\n"
        "made.append(as_parser(TokenTextSplitter(chunk_size=99, chunk_overlap=0)).fingerprint)\n"
        "sys.stdout.buffer.write(pickle.dumps(made))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps((document, parsers)),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "11"},
    )
    here = {
        name: [node.to_dict() for node in parser([document])] for name, parser in parsers.items()
    }
    stock = as_parser(TokenTextSplitter(chunk_size=99, chunk_overlap=0)).fingerprint
    assert pickle.loads(run.stdout) == [here, here, True, stock]
