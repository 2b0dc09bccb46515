"""Filters by headings: of chunks with headings inside, and of the sentences below these."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document, VectorStoreIndex
from stock_callers import lexical_index

from rag_nodes import PRESETS, FlatMetadata, get_parser, read
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.models import Models
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import Filter, QueryOptions, RagNodesRetriever
from rag_nodes.store import Store
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import Span, merge
from rag_nodes.text.words import words

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
QUESTION = "How many lines are used, and what is to be done with water?"
PUMP = (
    "# Pump\n\nIt is red.\n\n## Start it\n\nTurn the key. Wait a minute.\n\n## Oil\n\n"
    "Use no water.\n\n## Stop it\n\nPush the knob.\n\n# Boat\n\nIt is blue.\n\n## Oil\n\n"
    "Use little."
)


def sections_of(text: str) -> list[tuple[Span, tuple[str, ...]]]:
    """Return the sections of a text with their paths; what is before the first is part of it."""
    headings = Packer(text).headings.headings
    starts = [0, *(heading.block.start for heading in headings[1:]), len(text)]
    spans = map(Span, starts, starts[1:])
    return [(span, heading.path) for span, heading in zip(spans, headings, strict=True)]


def over_store(store: Store, models: Models, *documents: Document, parser: Any) -> dict[str, Any]:
    report = ingest_documents(documents, {"p": parser}, store, models=models)
    return {"store": store, "collection": report.columns[0].collection, "models": models}


def spans_read(
    over: dict[str, Any] | VectorStoreIndex, filter_: Filter, **options: Any
) -> list[Span]:
    """Return what is read of a document below the headings of a filter."""
    asked = QueryOptions(filter=filter_, **{"mode": "dense", "granularity": "sentences"} | options)
    retriever = (
        RagNodesRetriever(**over, options=asked)
        if isinstance(over, dict)
        else RagNodesRetriever.from_index(over, options=asked)
    )
    nodes: Sequence[Any] = [each.node for each in retriever.retrieve(QUESTION)]
    return sorted(Span(node.start_char_idx, node.end_char_idx) for node in nodes)


@pytest.mark.parametrize("preset", ["retrieval", "heading", "token-overlap"])
@pytest.mark.parametrize("name", ["ferry.pdf", "manual.md"])
def test_each_heading_is_found_with_the_text_below_it_and_no_other(
    name: str, preset: str, store: Store, offline: Models
) -> None:
    document = read(CORPUS / name)
    sections = sections_of(document.text)
    over = over_store(store, offline, document, parser=get_parser(preset))
    for _, (*_, heading) in sections:
        wanted = set(words(heading))
        below = merge([span for span, path in sections if wanted <= set(words(" ".join(path)))])
        spans = spans_read(over, Filter(heading=heading))
        assert spans, heading
        assert all(any(part.common(span) == span for part in below) for span in spans), heading


@pytest.fixture(params=["store", "index", "flat"])
def pump(
    request: pytest.FixtureRequest, store: Store, offline: Models
) -> dict[str, Any] | VectorStoreIndex:
    """A single chunk with several headings, in a store and in indexes."""
    document, parser = Document(text=PUMP, id_="pump.md"), get_parser("fixed", chunk_size=500)
    if request.param == "store":
        return over_store(store, offline, document, parser=parser)
    nodes = parser([document])
    return lexical_index(FlatMetadata()(nodes) if request.param == "flat" else nodes)


@pytest.mark.parametrize(
    ("filter_", "expected"),
    [
        (Filter(heading="stop IT"), ["## Stop it\n\nPush the knob."]),
        (
            Filter(heading="it"),
            ["## Start it\n\nTurn the key. Wait a minute.", "## Stop it\n\nPush the knob."],
        ),
        (Filter(heading="oil pump"), ["## Oil\n\nUse no water."]),
        (Filter(heading_path=("Boat", "Oil")), ["## Oil\n\nUse little."]),
        (Filter(heading_path="Boat"), ["# Boat\n\nIt is blue.\n\n## Oil\n\nUse little."]),
    ],
)
def test_only_sentences_below_the_headings_of_a_filter_are_selected(
    pump: Any, filter_: Filter, expected: list[str]
) -> None:
    assert [span.of(PUMP) for span in spans_read(pump, filter_)] == expected


def test_whole_chunks_with_a_heading_of_the_filter_are_read_whole(pump: Any) -> None:
    assert spans_read(pump, Filter(heading="Stop"), granularity="chunks") == [Span(0, len(PUMP))]


@pytest.mark.parametrize(
    ("filter_", "message"),
    [
        (Filter(heading="Stop Boat"), "'Stop Boat'; did you mean 'Stop it'"),
        (Filter(heading="Stopp it"), "'Stopp it'; did you mean 'Stop it'"),
        (Filter(heading_path=("Boat", "Start it")), "'Boat > Start it'; did you mean 'Start it'"),
    ],
)
def test_words_of_several_headings_are_no_heading(pump: Any, filter_: Filter, message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"no chunk has the heading {message}"):
        spans_read(pump, filter_)


def test_sentences_are_on_the_pages_and_below_the_headings_of_a_filter(
    store: Store, offline: Models
) -> None:
    starts = [0, PUMP.index("Wait"), PUMP.index("# Boat")]
    document = Document(text=PUMP, id_="pump.md", metadata={"page_starts": starts})
    over = over_store(store, offline, document, parser=get_parser("fixed", chunk_size=500))
    spans = spans_read(over, Filter(heading="it", pages=(2, 3)))
    assert [span.of(PUMP) for span in spans] == ["Wait a minute.", "## Stop it\n\nPush the knob."]


@pytest.mark.parametrize(("heading", "page"), [("Stop", 1), ("Boat", 1), ("Stop", 3)])
@pytest.mark.parametrize("is_alone", [True, False])
def test_nothing_is_read_of_a_document_without_a_part_on_the_pages_and_below_the_heading(
    heading: str, page: int, is_alone: bool, store: Store, offline: Models
) -> None:
    starts = [0, PUMP.index("## Stop"), PUMP.index("# Boat")]
    texts = [] if is_alone else [f"# {heading}\n\nUse water lines."]
    documents = [
        Document(text=PUMP, metadata={"page_starts": starts}),
        *(Document(text=text, metadata={"page_starts": [0] * page}) for text in texts),
    ]
    over = over_store(store, offline, *documents, parser=get_parser("fixed", chunk_size=500))
    filter_ = Filter(heading=heading, pages=(page, page))
    options = QueryOptions(filter=filter_, granularity="sentences", mode="dense")
    found = RagNodesRetriever(**over, options=options).retrieve(QUESTION)
    assert [each.node.get_content() for each in found] == texts


@pytest.mark.parametrize("preset", list(PRESETS))
def test_every_parser_s_chunks_are_read_below_the_headings_of_a_filter(
    preset: str, store: Store, offline: Models
) -> None:
    own = {"embed_model": offline.sentence_model} if PRESETS[preset].embeds else {}
    document = Document(text=PUMP, id_="pump.md")
    over = over_store(store, offline, document, parser=get_parser(preset, **own))
    texts = [
        span.of(PUMP).removeprefix("## Oil\n\n") for span in spans_read(over, Filter(heading="oil"))
    ]
    assert texts == ["Use no water.", "Use little."]


def test_chunks_without_offsets_are_read_whole_if_they_have_a_heading_of_the_filter() -> None:
    [node] = get_parser("fixed", chunk_size=500)([Document(text=PUMP, id_="pump.md")])
    node = node.model_copy(update={"start_char_idx": None, "end_char_idx": None})
    index = lexical_index([node])
    options = QueryOptions(filter=Filter(heading="Stop"), granularity="sentences", mode="dense")
    [passage] = RagNodesRetriever.from_index(index, options=options).retrieve(QUESTION)
    assert passage.node.get_content() == PUMP


def test_a_message_says_of_how_many_chunks_it_names_the_headings(
    store: Store, offline: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "It is a pump.\n\n" * 9 + PUMP
    parser = get_parser("fixed", chunk_size=60, chunk_overlap=0)
    over = over_store(store, offline, Document(text=text, id_="pump.md"), parser=parser)
    monkeypatch.setattr("rag_nodes.query.missing_keys._SAMPLE", 1)
    with pytest.raises(ConfigurationError, match="the headings of the first 1 chunks are '"):
        spans_read(over, Filter(heading="zzz"))


@pytest.mark.parametrize("asked", [{"heading": "oil boat"}, {"heading_path": "Oil boat"}])
def test_a_heading_behind_chunks_with_its_words_in_several_headings_is_not_refused(
    asked: dict[str, Any], store: Store, offline: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = [Document(text=f"# {n}\n\nGo.\n\n# Oil\n\n# Boat\n\nOn.") for n in range(20)]
    document = Document(text="# Oil boat\n\nIt is blue.")
    over = over_store(store, offline, *crowd, document, parser=get_parser("fixed"))
    monkeypatch.setattr("rag_nodes.query.missing_keys._SAMPLE", 1)
    assert not spans_read(over, Filter(**asked, document_ids=()))


def test_a_message_does_not_suggest_the_heading_that_was_asked_for(pump: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"the heading 'Stop it'; (?!did you mean 'Stop)"):
        spans_read(pump, Filter(heading_path="Stop it"))
