from llama_index.core.schema import MetadataMode, TextNode

from rag_nodes import get_parser, metadata
from rag_nodes.metadata import BOOKKEEPING, BREADCRUMB, FILE_PATH, NOT_INHERITED, PAGE_LABEL

CONSTANTS = {
    name: value
    for name, value in vars(metadata).items()
    if name.isupper() and isinstance(value, str) and not name.startswith("_") and name != "USUAL"
}


def test_every_key_is_bookkeeping_but_the_heading_and_those_of_llama_index() -> None:
    assert set(CONSTANTS.values()) - set(BOOKKEEPING) == {BREADCRUMB, FILE_PATH, PAGE_LABEL}
    assert len(BOOKKEEPING) == len(set(BOOKKEEPING)) == len(CONSTANTS) - 3


def test_whatever_is_a_key_is_seen_by_no_model_and_only_what_may_be_is_inherited() -> None:
    # A chunk of some pipeline before ours, which may have any key of ours.
    chunk = TextNode(text="The pump starts.", metadata=dict.fromkeys(BOOKKEEPING, "canary"))
    chunk.metadata[metadata.PAGE_STARTS] = [0]
    [node] = get_parser("fixed")([chunk])
    for mode in (MetadataMode.EMBED, MetadataMode.LLM):
        assert "canary" not in node.get_content(mode)
    kept = {key for key, value in node.metadata.items() if value == "canary"}
    assert not kept & NOT_INHERITED
    assert {metadata.SOURCE, metadata.TITLE, metadata.LANGUAGE, metadata.TIMESTAMP} <= kept
