"""LlamaIndex's filters in the options of a question, and keys that no chunk has."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import Document
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from rag_nodes import Comparison, QueryOptions, RagNodesRetriever, get_parser
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.models import Models
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query.missing_keys import check_keys
from rag_nodes.store import Filter, Store, open_store

VALUES = st.sampled_from(["red", "blue", 1, 2.5, 7])
_DRAWN = Random(7)  # noqa: S311 -- the same documents every time
FACTS: dict[str, dict[str, Any]] = {
    f"d{number}": {
        key: _DRAWN.choice(["red", "blue", 1, 2, 2.5, 7, ["red", "blue"], [1, 7]])
        for key in ("colour", "size", "kind")
        if _DRAWN.random() < 0.7
    }
    for number in range(40)
}


@pytest.fixture(scope="module", params=["memory", "folder"])
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, offline: Models
) -> Iterator[tuple[Store, str]]:
    place = ":memory:" if request.param == "memory" else tmp_path_factory.mktemp("kept")
    with open_store(place) as store:
        documents = [
            Document(text=f"The ferry {key} is here.", id_=key, metadata=facts)
            for key, facts in FACTS.items()
        ]
        parsers = {"p": get_parser("recursive")}
        report = ingest_documents(documents, parsers, store, models=offline)
        yield store, report.columns[0].collection


def _single(key: str, how: str, value: Any) -> MetadataFilter:
    return MetadataFilter(key=key, value=value, operator=FilterOperator(how))


SINGLE = st.one_of(
    st.builds(_single, st.sampled_from(["colour", "size"]), st.sampled_from(["==", "!="]), VALUES),
    st.builds(
        _single,
        st.sampled_from(["colour", "kind"]),
        st.sampled_from(["in", "nin"]),
        st.sampled_from([["red"], ["red", "blue"], [1, 7], [2.5]]),
    ),
    st.builds(
        _single,
        st.just("size"),
        st.sampled_from(["<", "<=", ">", ">="]),
        st.sampled_from([1, 2, 2.5]),
    ),
    st.builds(_single, st.just("kind"), st.just("is_empty"), st.none()),
)
FILTERS = st.recursive(
    st.builds(lambda value: MetadataFilters(filters=[value]), SINGLE),
    lambda inner: st.builds(
        lambda parts, how: MetadataFilters(filters=parts, condition=how),
        st.lists(st.one_of(SINGLE, inner), min_size=1, max_size=3),
        st.sampled_from(list(FilterCondition)),
    ),
    max_leaves=4,
)


def _passes(given: MetadataFilters | MetadataFilter, facts: dict[str, Any]) -> bool:
    """Brute force, in terms of Python alone."""
    if isinstance(given, MetadataFilters):
        each = [_passes(filter_, facts) for filter_ in given.filters]
        if given.condition == FilterCondition.NOT:
            return not any(each)
        return any(each) if given.condition == FilterCondition.OR else all(each)
    value, how = given.value, given.operator.value
    fact = facts.get(given.key)
    held = fact if isinstance(fact, list) else [] if fact is None else [fact]
    wanted = value if isinstance(value, list) else [value]
    if how == "is_empty":
        return not held
    if how in {"==", "in"}:
        return any(value in wanted for value in held)
    if how in {"!=", "nin"}:
        return bool(held) and not any(value in wanted for value in held)
    numbers = [value for value in held if not isinstance(value, str)]
    compare = {"<": float.__lt__, "<=": float.__le__, ">": float.__gt__, ">=": float.__ge__}[how]
    return any(compare(float(number), float(value)) for number in numbers)  # type: ignore[arg-type]


@given(filters=FILTERS)
def test_filters_of_llamaindex_are_taken_as_a_filter_and_find_what_brute_force_finds(
    filled: tuple[Store, str], offline: Models, filters: MetadataFilters
) -> None:
    store, collection = filled
    matches = []
    for options in (QueryOptions(filter=filters, top_k=99), QueryOptions(filter=filters)):
        retriever = RagNodesRetriever(
            store=store, collection=collection, models=offline, options=options
        )
        matches.append({hit.node.ref_doc_id for hit in retriever.retrieve("Which ferry?")})
    wanted = {key for key, facts in FACTS.items() if _passes(filters, facts)}
    assert matches == [wanted, wanted]


def test_a_key_that_no_chunk_has_is_named_with_the_nearest_or_all_others(
    filled: tuple[Store, str], offline: Models
) -> None:
    store, collection = filled

    def find(where: dict[str, Any]) -> int:
        options = QueryOptions(filter=Filter(where=where))
        retriever = RagNodesRetriever(
            store=store, collection=collection, models=offline, options=options
        )
        return len(retriever.retrieve("Which ferry?"))

    with pytest.raises(ConfigurationError, match="no chunk has the key 'color'; did you mean 'col"):
        find({"color": "red"})
    with pytest.raises(
        ConfigurationError, match="the keys of the documents are 'colour', 'kind', 'size'"
    ):
        find({"colour": "red", "wheels": [1, 2]})
    assert find({"colour": "green"}) == 0
    assert find({"colour": "red", "wheels": None}) > 0


@pytest.mark.parametrize(
    ("filter_", "words"),
    [
        (Filter(pages=(1, 2)), "no chunk has a page number; leave pages out, or ingest files"),
        (Filter(heading="Ferries"), "no chunk has headings; leave heading out, or split"),
        (Filter(heading_path="Ferries"), "no chunk has headings"),
    ],
)
def test_pages_and_headings_that_no_chunk_has_are_refused(
    filled: tuple[Store, str], offline: Models, filter_: Filter, words: str
) -> None:
    store, collection = filled
    retriever = RagNodesRetriever(
        store=store, collection=collection, models=offline, options=QueryOptions(filter=filter_)
    )
    with pytest.raises(ConfigurationError, match=words):
        retriever.retrieve("Which ferry?")


@pytest.mark.parametrize(
    "front", ["", "---\ntitle: Handbook\ndept: hr\n---\n", "---\na: 1\n---\n\n"]
)
@pytest.mark.parametrize("preset", ["retrieval", "fixed", "heading", "sentence"])
def test_a_heading_is_found_below_front_matter_and_named_if_it_is_misspelt(
    store: Store, offline: Models, front: str, preset: str
) -> None:
    document = Document(
        text=f"{front}# Leave\n\nStaff have 30 days of leave.\n", metadata={"file_name": "a.md"}
    )
    report = ingest_documents([document], {"p": get_parser(preset)}, store, models=offline)

    def find(**filter_: Any) -> str:
        options = QueryOptions(filter=Filter(**filter_))
        collection = report.columns[0].collection
        retriever = RagNodesRetriever(
            store=store, collection=collection, models=offline, options=options
        )
        return " ".join(node.get_content() for node in retriever.retrieve("How many days?"))

    assert "30 days" in find(heading="leave")
    assert "30 days" in find(heading_path="Leave")
    for filter_ in ({"heading": "Leav"}, {"heading_path": "Leav"}):
        with pytest.raises(ConfigurationError, match="the heading 'Leav'; did you mean 'Leave'"):
            find(**filter_)


def test_without_own_keys_a_filter_by_one_says_how_they_are_attached(offline: Models) -> None:
    documents = [Document(text="The ferry is here.", id_="a")]
    options = QueryOptions(filter=Filter(where={"year": 2020}))
    with Comparison(
        {"fixed": "fixed"}, documents=documents, models=offline, options=options
    ) as comparison:
        [column] = comparison.ask("Which ferry?").columns
    assert "no chunk has the key 'year'; the documents have no keys of your own" in str(
        column.error
    )
    assert "--set" in str(column.error)


def test_a_message_about_own_keys_claims_nothing_about_chunks_it_did_not_look_at(
    filled: tuple[Store, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, collection = filled
    monkeypatch.setattr("rag_nodes.query.missing_keys._SAMPLE", 1)
    monkeypatch.setattr("rag_nodes.query.missing_keys.own_metadata", lambda _: {})
    with pytest.raises(ConfigurationError, match="the first 1 chunks have no keys of your own"):
        check_keys(store, collection, Filter(where={"site": "Bern"}))
