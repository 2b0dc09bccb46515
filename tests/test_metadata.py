from llama_index.core.schema import MetadataMode, TextNode

from rag_nodes import get_parser
from rag_nodes.core import metadata
from rag_nodes.core.metadata import (
    BOOKKEEPING,
    BREADCRUMB,
    FILE_PATH,
    NOT_INHERITED,
    PAGE_LABEL,
    TABLE,
)

CONSTANTS = {
    name: value
    for name, value in vars(metadata).items()
    if name.isupper() and isinstance(value, str) and not name.startswith("_") and name != "USUAL"
}


def test_every_key_is_bookkeeping_but_heading_table_and_those_of_llama_index() -> None:
    assert set(CONSTANTS.values()) - set(BOOKKEEPING) == {BREADCRUMB, TABLE, FILE_PATH, PAGE_LABEL}
    assert len(BOOKKEEPING) == len(set(BOOKKEEPING)) == len(CONSTANTS) - 4


def test_whatever_is_a_key_is_seen_by_no_model_and_only_what_may_be_is_inherited() -> None:
    # A chunk of some pipeline before ours, which may have any key of ours.
    chunk = TextNode(text="The pump starts.", metadata=dict.fromkeys(BOOKKEEPING, "canary"))
    chunk.metadata |= {metadata.PAGE_STARTS: [0], metadata.HEADING_PATH: ["Pumps"]}
    [node] = get_parser("fixed")([chunk])
    for mode in (MetadataMode.EMBED, MetadataMode.LLM):
        assert "canary" not in node.get_content(mode)
    kept = {key for key, value in node.metadata.items() if value == "canary"}
    assert not kept & NOT_INHERITED
    assert {metadata.SOURCE, metadata.TITLE, metadata.LANGUAGE, metadata.TIMESTAMP} <= kept


def test_a_label_of_any_length_is_read_as_a_page_or_as_none() -> None:
    labels = ["7", " 7", "iv", "0", "", None, "9" * 9, "9" * 5_000]
    assert list(map(metadata.page_number, labels)) == [
        *(7, None, None, None, None, None),
        *(999_999_999, None),
    ]


def test_paths_and_urls_are_sources_and_numbers_of_pages_are_not() -> None:
    facts = {"source": "7", "file_path": "/a/tea.pdf", "url": "", "also_at": ["https://a.example"]}
    assert metadata.sources(facts) == ["/a/tea.pdf", "https://a.example"]
