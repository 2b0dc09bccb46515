"""What users of LlamaIndex's own parsers expect of any other: names, progress bars, round trips."""

import json

import pytest
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.node_parser import (
    HierarchicalNodeParser,
    NodeParser,
    SentenceSplitter,
    SentenceWindowNodeParser,
    TokenTextSplitter,
)
from llama_index.core.schema import Document

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.parsers import (
    PRESETS,
    SemanticNodeParser,
    SpanNodeParser,
    get_parser,
    load_parser,
)

EVERY = pytest.mark.parametrize("name", PRESETS)
DOCUMENTS = [Document(text=f"# Part {n}\n\nIt is hot. It is green.", id_=str(n)) for n in range(3)]


@EVERY
def test_from_defaults_takes_what_the_class_takes(name: str) -> None:
    preset = PRESETS[name]
    built = preset.parser.from_defaults(**preset.options, language="de", callback_manager=None)
    assert built == get_parser(name, language="de")


@EVERY
def test_from_defaults_refuses_what_the_class_refuses(name: str) -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"unknown option 'chunksize'; (did you mean chunk_size\?|.* takes: .*tokenizer)",
    ):
        PRESETS[name].parser.from_defaults(chunksize=3)


@EVERY
async def test_a_single_document_stands_for_itself(name: str) -> None:
    parser = get_parser(name)
    assert parser(DOCUMENTS[0]) == parser(DOCUMENTS[:1]) == await parser.acall(DOCUMENTS[0])


@EVERY
def test_raw_html_is_named_once_with_the_reader_to_use(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    pages = [
        Document(text=text, metadata={"file_name": f"{n}.html"})
        for n, text in enumerate(("<div>Tea.</div>", "<html><p>Tea.</p></html>"))
    ]
    get_parser(name)([*DOCUMENTS, *pages])
    [warning] = caplog.messages
    assert "raw HTML: 2; the first is 0.html" in warning
    assert "file_extractor={'.html': RagNodesReader()}" in warning


@EVERY
def test_show_progress_shows_the_bar_of_llama_index(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = get_parser(name)
    quiet = parser.get_nodes_from_documents(DOCUMENTS)
    assert not capsys.readouterr().err
    assert parser.get_nodes_from_documents(DOCUMENTS, show_progress=True) == quiet
    shown = capsys.readouterr().err
    assert "Parsing nodes" in shown
    assert "3/3" in shown


@pytest.mark.parametrize("name", ["fixed", "semantic", "parent-child"])
async def test_show_progress_counts_documents_asynchronously_too(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await get_parser(name).aget_nodes_from_documents(DOCUMENTS, show_progress=True)
    assert "3/3" in capsys.readouterr().err


@EVERY
def test_load_parser_gives_back_what_to_dict_described_even_through_json(name: str) -> None:
    parser = get_parser(name)
    again = load_parser(json.loads(json.dumps(parser.to_dict())))
    assert again == parser
    assert isinstance(again, SpanNodeParser)
    assert again.fingerprint == parser.fingerprint
    assert load_parser(parser) is parser


def test_load_parser_is_handed_an_embedding_model_again() -> None:
    model = MockEmbedding(embed_dim=3)
    parser = SemanticNodeParser(embed_model=model)
    again = load_parser(parser.to_dict(), embed_model=model)
    assert again == parser
    assert again(DOCUMENTS) == parser(DOCUMENTS)


@pytest.mark.parametrize(
    "stock",
    [
        SentenceSplitter(chunk_size=77, chunk_overlap=7),
        TokenTextSplitter(chunk_size=50, chunk_overlap=5),
        SentenceWindowNodeParser.from_defaults(window_size=2),
    ],
    ids=lambda parser: parser.class_name(),
)
def test_load_parser_gives_back_the_parsers_of_llama_index(stock: NodeParser) -> None:
    again = load_parser(json.loads(json.dumps(stock.to_dict())))
    assert type(again) is type(stock)
    assert again.to_dict() == stock.to_dict()


def _own_id(_: int, document: object) -> str:
    return str(document)


@pytest.mark.parametrize(
    "data",
    [
        {"class_name": "NoSuchParser"},
        {},
        {"class_name": "SentenceSplitter", "chunk_size": -1},
        HierarchicalNodeParser.from_defaults().to_dict(),
        SentenceSplitter(id_func=_own_id).to_dict(),
    ],
    ids=["unknown", "no class", "bad option", "nested", "own ids"],
)
def test_load_parser_refuses_what_it_cannot_make_and_says_so(data: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match="cannot make a parser"):
        load_parser(data)


def test_a_function_that_is_no_data_can_be_handed_to_load_parser() -> None:
    stock = SentenceSplitter(id_func=_own_id)
    assert load_parser(stock.to_dict(), id_func=_own_id).id_func is _own_id
