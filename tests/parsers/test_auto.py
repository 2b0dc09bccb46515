"""AutoNodeParser: which preset it takes, why, and that it keeps every parser's promises."""

from itertools import pairwise
from typing import Any

import pytest
from llama_index.core.schema import Document, MetadataMode

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.metadata import DECISION, FILE_NAME
from rag_nodes.parsers import HeadingHierarchyNodeParser, SentenceNodeParser, get_parser
from rag_nodes.parsers.auto import WHOLE, AutoNodeParser
from rag_nodes.text.tokens import count_tokens

SENTENCE = "The harbour master keeps a list of all boats that are due before dark. "
PROSE = "\n\n".join(f"Paragraph {n} begins here. " + SENTENCE * 6 for n in range(30))
MANUAL = "# Manual\n\n" + "\n\n".join(f"## Part {n}\n\n{SENTENCE * 8}" for n in range(12))
TALK = "\n\n".join(
    f"{'Ann' if n % 2 else 'Bob'}: {'Yes, I think so. ' * (1 + n % 5)}" for n in range(200)
)
RECORDS = "\n\n".join(
    f"Release Year: {1900 + n}\nTitle: Film {n}\nDirector: Unknown\nPlot: {SENTENCE * (1 + n % 5)}"
    for n in range(30)
)


def auto(**options: Any) -> AutoNodeParser:
    return AutoNodeParser(**options)


def page(text: str) -> Document:
    return Document(text=text, metadata={"source": "https://tea.test/docs/guide"}, id_="page")


@pytest.mark.parametrize(
    ("document", "chosen", "reason"),
    [
        (Document(text=MANUAL), "heading", "is Markdown, so nodes hold up to 200 tokens."),
        (
            Document(text=PROSE, metadata={FILE_NAME: "a.txt"}),
            "heading",
            "is plain text, so nodes hold up to 200 tokens.",
        ),
        (Document(text=TALK), "sentence", "is a conversation, so nodes hold up to 500 tokens."),
        (
            Document(text=TALK.replace("\n\n", "\n")),
            "sentence",
            "is a conversation, so nodes hold up to 500 tokens.",
        ),
        (Document(text=RECORDS), "heading", "is Markdown, so nodes hold up to 200 tokens."),
        (page(TALK), "heading", "is a page of a website, so nodes hold up to 200 tokens."),
        (page("Short."), "heading", "is a page of a website, so nodes hold up to 200 tokens."),
        (Document(text="Short and whole."), WHOLE, "tokens are under 500."),
        (Document(text="  \n "), WHOLE, "is blank."),
    ],
    ids=["manual", "plain", "talk", "lines", "records", "web", "web-short", "short", "blank"],
)
def test_s3_25_each_format_gets_the_preset_and_the_size_of_the_table(
    document: Document, chosen: str, reason: str
) -> None:
    decision = auto().explain(document)
    assert decision.chosen == chosen
    assert decision.reason.endswith(reason)
    sizes = [count_tokens(node.get_content()) for node in auto()([document])]
    assert max(sizes, default=0) <= decision.chunk_size


def test_the_nodes_are_those_of_the_preset_that_was_taken() -> None:
    sizes = {"chunk_size": 140, "min_chunk_size": 50}
    heading = HeadingHierarchyNodeParser(**sizes)
    assert auto(**sizes).split_text(MANUAL) == heading.split_text(MANUAL)
    sentence = SentenceNodeParser(unit="tokens", chunk_size=500, chunk_overlap=0)
    assert auto().split_text(TALK) == sentence.split_text(TALK)


@pytest.mark.parametrize("text", [MANUAL * 20, PROSE * 20], ids=["manual", "prose"])
def test_r7_a_page_of_a_website_is_split_by_its_sections(text: str) -> None:
    nodes = auto()([page(text)])
    expected = get_parser("heading", chunk_size=200)([page(text)])
    assert [node.get_content() for node in nodes] == [node.get_content() for node in expected]


def test_every_node_says_why_and_neither_model_reads_it() -> None:
    parser = auto(chunk_size=300)
    nodes = parser.get_nodes_from_documents([Document(text=MANUAL)])
    assert len(nodes) > 3
    for node in nodes:
        assert node.metadata[DECISION] == str(parser.explain(MANUAL))
        for mode in (MetadataMode.EMBED, MetadataMode.LLM):
            assert "so nodes hold" not in node.get_content(metadata_mode=mode)


def test_a_size_that_was_asked_for_holds_for_every_format() -> None:
    for text in (MANUAL, TALK, PROSE):
        assert auto(chunk_size=100, min_chunk_size=0).explain(text).chunk_size == 100
        assert auto(choose_size=False, chunk_size=750).explain(text).chunk_size == 750


def test_p8_records_stay_whole_where_they_fit() -> None:
    chunks = auto().split_text(RECORDS)
    assert all(any(part.strip() in chunk for chunk in chunks) for part in RECORDS.split("\n\n"))


def test_s2_23_neighbours_share_nothing_unless_that_is_asked_for() -> None:
    for text in (PROSE, TALK, MANUAL):
        nodes = auto()([Document(text=text)])
        assert len(nodes) > 3
        assert all(
            left.end_char_idx <= right.start_char_idx  # type: ignore[attr-defined]
            for left, right in pairwise(nodes)
        )
    shared = auto(chunk_overlap=40)([Document(text=TALK)])
    assert any(
        left.end_char_idx > right.start_char_idx  # type: ignore[attr-defined]
        for left, right in pairwise(shared)
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"min_chunk_size": 4900}, "must not be over chunk_size"),
        ({"chunk_overlap": 4000}, "must be smaller than chunk_size"),
    ],
    ids=str,
)
def test_a_wrong_configuration_says_what_to_do(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        auto(**options)


def test_data_of_a_preset_that_split_differently_is_refused() -> None:
    data = auto().to_dict()
    data["preset_versions"]["heading"] = 99
    with pytest.raises(ConfigurationError, match="ingest again"):
        AutoNodeParser.from_dict(data)


def test_another_version_of_a_preset_gives_another_fingerprint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = auto().fingerprint
    monkeypatch.setattr(HeadingHierarchyNodeParser, "output_version", 98)
    assert auto().fingerprint != before
