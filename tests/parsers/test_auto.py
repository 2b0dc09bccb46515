"""AutoNodeParser: which parser it picks, why, and that it keeps every parser's promises."""

from functools import cached_property
from itertools import pairwise
from typing import Any

import pytest
from llama_index.core.ingestion.pipeline import get_transformation_hash
from llama_index.core.schema import Document, MetadataMode

from rag_nodes.errors import ConfigurationError
from rag_nodes.metadata import DECISION
from rag_nodes.parsers import HeadingHierarchyNodeParser, TokenOverlapNodeParser, get_parser
from rag_nodes.parsers.auto import WHOLE, AutoNodeParser
from rag_nodes.parsers.auto.rules import SHORT, WINDOW, WINDOWS
from rag_nodes.parsers.source import SourceText
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import Span
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
ROWS = "\n".join(f"{n},Film {n},Unknown,{SENTENCE * (n % 5)}" for n in range(60))
TABLE = "| year | film |\n|---|---|\n" + "\n".join(f"| {n} | {SENTENCE} |" for n in range(60))
LOG = "\n".join(f"[{n:05}] " + "a=1;b=2;" * (200 + n) for n in range(12))
UNBROKEN = SENTENCE * 120


def auto(**options: Any) -> AutoNodeParser:
    return AutoNodeParser(**options)


def small(**options: Any) -> AutoNodeParser:
    sizes = {"chunk_size": 32, "min_chunk_size": 6, "chunk_overlap": 9, "whole_document_below": 0}
    return AutoNodeParser(**{**sizes, **options})


@pytest.mark.parametrize(
    ("text", "chosen", "reason"),
    [
        (MANUAL, "heading", "13 headings on 2 levels"),
        (PROSE, "token-overlap", "No headings to go by"),
        (UNBROKEN, "token-overlap", "No headings to go by"),
        (TALK, "sentence", "of the lines begin with a speaker"),
        (LOG, "recursive", "Half of the text is in sentences of"),
        (RECORDS, "token-overlap", "30 records with the same fields"),
        (TABLE, "token-overlap", "Tables are 100% of the text"),
        (ROWS, "recursive", "100% of the lines have the same number of columns"),
        ("Short and whole.", WHOLE, "tokens are under 500"),
        ("  \n ", WHOLE, "blank"),
    ],
    ids=[
        "manual",
        "prose",
        "unbroken",
        "talk",
        "log",
        "records",
        "table",
        "rows",
        "short",
        "blank",
    ],
)
def test_s3_25_each_kind_of_document_gets_the_parser_that_suits_it(
    text: str, chosen: str, reason: str
) -> None:
    decision = auto().explain(text)
    assert decision.chosen == chosen
    assert reason in decision.reason


def test_the_nodes_are_those_of_the_parser_that_was_picked() -> None:
    sizes = {"chunk_size": 140, "min_chunk_size": 50}
    assert auto(**sizes).split_text(MANUAL) == (
        HeadingHierarchyNodeParser(**sizes).split_text(MANUAL)
    )
    prose = TokenOverlapNodeParser(chunk_size=140, chunk_overlap=0, whole_document_below=0)
    assert auto(**sizes).split_text(PROSE) == prose.split_text(PROSE)


def test_every_node_says_why_and_neither_model_reads_it() -> None:
    parser = auto(chunk_size=300)
    nodes = parser.get_nodes_from_documents([Document(text=MANUAL)])
    assert len(nodes) > 3
    for node in nodes:
        assert node.metadata[DECISION] == str(parser.explain(MANUAL))
        for mode in (MetadataMode.EMBED, MetadataMode.LLM):
            assert "levels" not in node.get_content(metadata_mode=mode)
    assert nodes[0].metadata[DECISION].startswith("heading: 13 headings on 2 levels")
    assert nodes[0].metadata[DECISION].endswith(", so nodes hold up to 200 tokens.")


def test_the_reason_says_so_where_it_counts_windows_and_not_the_whole_text() -> None:
    section = "## Part\n\nWater flows through the pipe and into the tank below it. It rests.\n\n"
    for times, told in ((100, "100 headings"), (2000, "In its beginning, middle and end: ")):
        decision = auto().explain(section * times)
        assert decision.chosen == "heading"
        assert decision.reason.startswith(told)
        assert decision.signals["headings"] < 200


def test_a_form_full_of_tiny_sections_is_not_cut_by_its_headings() -> None:
    form = "\n\n".join(f"## {n}\n\nYes." for n in range(300))
    assert auto().explain(form).chosen != "heading"


def test_meaning_is_never_used_unless_it_is_asked_for() -> None:
    assert "semantic" not in auto().candidates
    assert auto(chunk_size=300).explain(UNBROKEN).chosen == "token-overlap"
    asked = auto(chunk_size=300, candidates={"heading": {}, "token-overlap": {}, "semantic": {}})
    decision = asked.explain(UNBROKEN)
    assert decision.chosen == "semantic"
    assert asked.explain(MANUAL).chosen == "heading"
    assert len(asked.split_text(UNBROKEN)) > 1


def test_the_only_candidate_is_taken_whatever_the_text() -> None:
    for name in ("heading", "token-overlap", "sentence", "recursive", "semantic"):
        parser = auto(candidates={name: {}})
        for text in (MANUAL, PROSE, TALK, LOG):
            assert parser.explain(text).chosen == name


def test_candidates_take_their_own_options_and_share_the_sizes() -> None:
    parser = auto(chunk_size=199, candidates={"recursive": {"separators": ["|", ""]}})
    inner = parser._parsers["recursive"]
    assert inner.to_dict()["chunk_size"] == 199
    assert inner.to_dict()["unit"] == "tokens"
    assert list(inner.to_dict()["separators"]) == ["|", ""]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"candidates": {}}, "candidates is empty; name some of: heading"),
        ({"candidates": {"magic": {}}}, "unknown candidate 'magic'; name some of: heading"),
        ({"candidates": {"heading": {"chunk_size": 9}}}, "set sizes, tokenizer and language on"),
        ({"candidates": {"heading": {"wrong": 1}}}, "unknown option 'wrong'"),
        ({"min_chunk_size": 4900}, "must not be over chunk_size"),
        ({"chunk_overlap": 4000}, "must be smaller than chunk_size"),
    ],
    ids=str,
)
def test_a_wrong_configuration_says_what_to_do(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        auto(**options)


def test_data_of_a_candidate_that_cut_differently_is_refused() -> None:
    data = auto().to_dict()
    data["candidate_versions"]["heading"] = 99
    with pytest.raises(ConfigurationError, match="ingest again"):
        AutoNodeParser.from_dict(data)


def test_other_candidates_or_versions_give_other_cache_keys_and_ids(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = [Document(text="x")]
    parsers = [auto(), auto(candidates={"heading": {}}), auto(candidates={"sentence": {}})]
    monkeypatch.setattr(HeadingHierarchyNodeParser, "output_version", 98)
    parsers.append(auto())
    assert len({parser.fingerprint for parser in parsers}) == 4
    monkeypatch.undo()
    assert len({get_transformation_hash(nodes, parser) for parser in parsers[:3]}) == 3


@pytest.mark.parametrize("text", [" " * 60_000 + "x", "x" + " " * 60_000 + "y"])
def test_a_long_document_that_is_nearly_blank_is_judged_by_what_is_there(text: str) -> None:
    assert "".join(auto(whole_document_below=0).split_text(text)).strip()[0] == "x"


async def test_a_parser_that_waits_for_a_model_is_awaited() -> None:
    parser = small(candidates={"semantic": {}})
    document = Document(text=UNBROKEN[:2000], id_="doc")
    awaited = await parser.acall([document])
    assert [n.node_id for n in awaited] == [n.node_id for n in parser([document])]
    assert all(n.metadata[DECISION].startswith("semantic: ") for n in awaited)


@pytest.mark.parametrize(
    ("text", "size"),
    [(PROSE, 200), (UNBROKEN, 200), (RECORDS, 200), (MANUAL, 200), (TALK, 500)],
    ids=["prose", "unbroken", "records", "manual", "talk"],
)
def test_p8_a_size_is_chosen_with_the_parser_and_named_in_the_reason(text: str, size: int) -> None:
    decision = auto().explain(text)
    assert decision.chunk_size == size
    assert decision.reason.endswith(f", so nodes hold up to {size} tokens.")
    assert max(map(count_tokens, auto().split_text(text))) <= size
    assert auto(chunk_size=100, min_chunk_size=0).explain(text).chunk_size == 100
    assert auto(choose_size=False, chunk_size=750).explain(text).chunk_size == 750


def test_p8_records_and_tables_stay_whole_where_they_fit() -> None:
    records = RECORDS.split("\n\n")
    chunks = auto().split_text(RECORDS)
    assert all(any(record.strip() in chunk for chunk in chunks) for record in records)


class Looks:
    """The characters that are scanned for blocks, sentences or tokens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[int] = []
        packer = SourceText.packer.func  # type: ignore[attr-defined]

        def looked(source: SourceText) -> object:
            self.seen.append(len(source.text))
            return packer(source)

        replaced = cached_property(looked)
        replaced.__set_name__(SourceText, "packer")
        monkeypatch.setattr(SourceText, "packer", replaced)


@pytest.mark.parametrize("text", [MANUAL * 40, PROSE * 20, TALK * 40, LOG * 10, RECORDS * 30])
def test_p8_a_long_document_is_decided_on_by_a_few_windows_and_no_candidate_is_tried(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(text) > SHORT
    looks = Looks(monkeypatch)
    parser = auto()
    decision = parser.explain(text)
    assert sum(looks.seen) <= WINDOWS * WINDOW + 2 * WINDOWS
    assert decision.chosen == parser.explain(text[: len(text) // 2]).chosen
    chosen = parser._parsers[decision.chosen]
    assert parser.split_text(text) == chosen.split_text(text)


def test_p8_a_short_document_is_looked_at_once_for_the_decision_and_the_cuts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = Looks(monkeypatch)
    auto().split_text(PROSE)
    assert looks.seen == [len(PROSE)]


def test_a_decision_holds_what_it_was_made_from() -> None:
    decision = auto().explain(Document(text=MANUAL))
    assert decision.signals["headings"] == 13
    assert decision.signals["levels"] == 2
    assert decision.signals["under_headings"] == 1.0


def test_where_no_rule_names_a_candidate_the_first_is_taken() -> None:
    decision = auto(candidates={"sentence": {}, "recursive": {}}).explain(PROSE)
    assert decision.chosen == "sentence"
    assert decision.reason.startswith("No rule names another candidate")


def page(text: str) -> Document:
    return Document(text=text, metadata={"source": "https://tea.test/docs/guide"}, id_="page")


@pytest.mark.parametrize(
    "text", [MANUAL * 20, PROSE * 20, "Short."], ids=["long", "prose", "short"]
)
def test_r7_a_page_of_a_website_is_cut_by_its_sections_and_says_so(text: str) -> None:
    parser = AutoNodeParser()
    nodes = parser([page(text)])
    expected = get_parser("heading", chunk_size=200)([page(text)])
    assert [node.get_content() for node in nodes] == [node.get_content() for node in expected]
    assert {node.metadata[DECISION] for node in nodes} == {
        "web: The document is a page of a website, so nodes hold up to 200 tokens."
    }


def test_r7_pages_are_as_large_as_those_of_the_preset_web_where_that_is_asked_for() -> None:
    sizes = {"chunk_size": 4000, "min_chunk_size": 500, "chunk_overlap": 200}
    for text in (MANUAL, MANUAL * 40):
        nodes = AutoNodeParser(choose_size=False, **sizes)([page(text)])
        expected = get_parser("web")([page(text)])
        assert [node.get_content() for node in nodes] == [node.get_content() for node in expected]


def test_r7_the_same_text_from_a_file_is_cut_by_what_is_in_it() -> None:
    assert AutoNodeParser().explain(Document(text=MANUAL * 20)).chosen == "heading"


def test_r7_a_size_that_was_asked_for_holds_for_pages_of_a_website_too() -> None:
    parser = AutoNodeParser(chunk_size=300)
    nodes = parser([page(MANUAL * 20)])
    assert parser.explain(page(MANUAL)).chosen == "web"
    assert max(count_tokens(node.get_content()) for node in nodes) <= 300


@pytest.mark.parametrize("text", [MANUAL, RECORDS, TABLE], ids=["manual", "records", "table"])
def test_p8_where_structure_decides_no_sentence_is_looked_for(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looked(packer: Packer, block: object) -> list[Span]:
        raise AssertionError(f"sentences of {block} in {packer}")

    monkeypatch.setattr(Packer, "units_of", looked)
    assert AutoNodeParser(whole_document_below=0).explain(text).chosen in {
        "heading",
        "token-overlap",
    }


def test_headings_at_the_end_of_a_text_do_not_order_it() -> None:
    parts = "".join(f"## Part {n}\n\n{SENTENCE * 8}\n\n" for n in range(4))
    assert auto().explain(f"{PROSE}\n\n{parts}").chosen != "heading"
    assert auto().explain(f"{SENTENCE}\n\n{parts}").chosen == "heading"


def test_s2_23_neighbours_share_nothing_unless_that_is_asked_for() -> None:
    for text in (PROSE, TALK, MANUAL):
        nodes = auto()([Document(text=text)])
        assert len(nodes) > 3
        assert all(
            left.end_char_idx <= right.start_char_idx  # type: ignore[attr-defined]
            for left, right in pairwise(nodes)
        )
    shared = auto(chunk_overlap=40)([Document(text=PROSE)])
    assert any(
        left.end_char_idx > right.start_char_idx  # type: ignore[attr-defined]
        for left, right in pairwise(shared)
    )


def test_neighbours_share_at_most_a_fifth_of_a_size_that_was_chosen() -> None:
    parser = auto(chunk_size=750, chunk_overlap=100)
    assert parser._parsers["token-overlap"].to_dict()["chunk_overlap"] == 40
    assert (
        auto(chunk_size=750, chunk_overlap=20)._parsers["sentence"].to_dict()["chunk_overlap"] == 20
    )
