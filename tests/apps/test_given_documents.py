"""Documents that the page is built with: the pages of a file as LlamaIndex gives them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.llms import MockLLM
from visits import choose

from rag_nodes import join_pages, read
from rag_nodes.apps.given import given_documents
from rag_nodes.apps.panes.answers import turn_view
from rag_nodes.apps.panes.pages import show_found, show_page
from rag_nodes.apps.panes.top import report_html
from rag_nodes.apps.visitors.columns import offer_of
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.core.settings import Settings
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.text.spans import PageMap, Span

LINES = ("Test the horn before each trip.", "", "Lower the ramp when moored.", "")


def pages(path: Path | str, *labels: str, lines: tuple[str, ...] = LINES) -> list[Document]:
    """Return documents as `SimpleDirectoryReader` makes them of a PDF."""
    return [
        Document(
            text=line,
            metadata={"file_path": str(path), "file_name": Path(path).name, "page_label": label},
            excluded_embed_metadata_keys=["file_name"],
        )
        for line, label in zip(lines, labels, strict=True)
    ]


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    path = tmp_path / "handbook.pdf"
    with pymupdf.open() as document:
        for line in LINES:
            document.new_page(width=420, height=300).insert_text((60, 60), line)
        document.save(path)
    return path


def load_documents(*documents: Document) -> tuple[PageSession, Any]:
    paths, given = given_documents(documents)
    session = PageSession(Settings(), documents=given)
    choose(session, "fixed")
    return session, session.load(paths)


def test_the_pages_of_a_file_are_one_document_and_blank_ones_are_counted(handbook: Path) -> None:
    session, report = load_documents(*pages(handbook, "1", "2", "3", "4"))
    [document] = session.documents
    shown = report_html(report)
    assert "4 pages" in shown
    assert "2 blank pages left out" in shown
    assert "rn-error" not in shown
    assert shown.count('class="rn-file"') == 1
    assert "handbook.pdf" in shown
    assert document.metadata["page_starts"][2] == document.text.index(LINES[2])
    session.close()


@pytest.mark.parametrize(
    "documents_of",
    [
        lambda path: pages(path, "1", "2", "3", "4"),
        lambda path: [read(path)],
        lambda path: [join_pages(pages(path, "1", "2", "3", "4"))],
    ],
    ids=["SimpleDirectoryReader", "read", "join_pages"],
)
def test_the_page_is_drawn_as_printed_if_the_file_is_there(
    handbook: Path, documents_of: Callable[[Path], list[Document]]
) -> None:
    session, _ = load_documents(*documents_of(handbook))
    show_page(session)
    drawing = next(patch["html"] for patch in session.screen.patches(0) if patch["name"] == "sheet")
    assert drawing.count("<image ") == 1
    session.close()


class Captain(MockLLM):
    """Answers in words of the third page, and names no source."""

    says: str = "They lower the ramp after they moored."

    def complete(self, *_: Any, **__: Any) -> CompletionResponse:
        return CompletionResponse(text=self.says)


def test_a_sentence_of_an_engine_leads_to_the_printed_page_that_shares_its_words(
    handbook: Path,
) -> None:
    given = pages(handbook, "1", "2", "3", "4")
    index = VectorStoreIndex.from_documents(given, embed_model=LexicalEmbedding())
    columns = {"mine": index.as_query_engine(llm=Captain(), similarity_top_k=2)}
    paths, documents = given_documents(given)
    with PageSession(
        Settings(), offer=offer_of(columns), own=["mine"], documents=documents
    ) as session:
        session.load(paths)
        turn = session.talk.ask("When is the ramp lowered?")
        drawn = str(turn_view(turn, several=False))
        assert re.search(r"<button[^>]*rn-place[^>]*>closest: p. 3</button>", drawn)
        assert "rn-hit" in drawn
        assert "rn-cited" not in drawn, "the answer names none of the chunks"
        cited = re.search(r'data-cited="(\d)"[^>]*>closest', drawn)
        assert cited
        show_found(session, 1, 1, cited=int(cited[1]))
        assert session.place.page == 3
        regions = {patch["name"]: patch["html"] for patch in session.screen.patches(0)}
        assert regions["sheet"].count("<image ") == 1
        assert 'class="rn-strip-hit" stroke-width' in regions["map"]


@pytest.mark.parametrize("says", ["Lower the ramp when moored.", "Lower the ramp when moored [1]."])
def test_a_sentence_that_stands_in_a_chunk_of_several_pages_leads_to_its_own(
    handbook: Path, says: str
) -> None:
    lines = (LINES[0], "", "Lower the ramp\nwhen moored.", "")
    given = [join_pages(pages(handbook, "1", "2", "3", "4", lines=lines))]
    index = VectorStoreIndex.from_documents(given, embed_model=LexicalEmbedding())
    captain = Captain()
    captain.says = says
    columns = {"mine": index.as_query_engine(llm=captain)}
    paths, documents = given_documents(given)
    with PageSession(
        Settings(), offer=offer_of(columns), own=["mine"], documents=documents
    ) as session:
        session.load(paths)
        drawn = str(turn_view(session.talk.ask("When is the ramp lowered?")))
        [(start, end, label)] = re.findall(
            r'data-start="(\d+)" data-end="(\d+)"[^>]*>([^<]*)</button>', drawn
        )
        assert label == "p. 3"
        sentence = Span(int(start), int(end))
        show_found(session, 1, 1, cited=1, sentence=sentence)
        assert session.place.page == 3
        assert [gold.of(given[0].text) for gold in session.place.gold] == [lines[2]]
        show_found(session, 1, 1, cited=1, sentence=Span(10**6, 10**6 + 5))
        assert session.place.page == 1, "no sentence of what is cited"


def test_a_question_is_answered_with_the_page_of_the_file(handbook: Path) -> None:
    session, _ = load_documents(*pages(handbook, "1", "2", "3", "4"))
    [column] = session.talk.ask("When is the ramp lowered?").columns
    assert column.answer is not None
    assert {citation.page for citation in column.answer.citations if "ramp" in citation.quote} == {
        3
    }
    session.close()


@pytest.mark.parametrize("labels", [("7", "8", "9", "12"), ("i", "ii", "1", "2")])
def test_pages_that_may_be_others_than_their_order_says_are_not_drawn(
    handbook: Path, labels: tuple[str, ...]
) -> None:
    paths, given = given_documents(pages(handbook, *labels))
    assert paths == [Path("<given 1>/handbook.pdf")]
    starts = given[paths[0]].metadata["page_starts"]
    assert len(starts) == (12 if labels[0] == "7" else 4)


@pytest.mark.parametrize("label", ["1000000000", "9" * 5000, "2000", "0"])
def test_a_page_whose_number_is_far_from_its_order_takes_no_memory_for_those_between(
    label: str,
) -> None:
    [document] = given_documents(pages("/gone/a.pdf", label, lines=("Text.",)))[1].values()
    assert list(document.metadata["page_starts"]) == [0]


def test_pages_are_counted_as_they_were_given_and_keep_their_numbers() -> None:
    [document] = given_documents(pages("/gone/a.pdf", "2", lines=("Text.",)))[1].values()
    assert document.metadata["total_pages"] == 1
    assert PageMap(document.metadata["page_starts"]).page_of(0) == 2


def test_pages_of_a_file_that_is_gone_and_documents_of_other_readers_are_shown_as_text() -> None:
    address = f"https://a.example/{'b' * 5_000}.pdf"  # longer than a path can be
    note = Document(text="A note.", metadata={"file_name": "note.md", "url": address})
    paths, given = given_documents([note, *pages("/gone/a.pdf", "1", lines=("Text.",)), "b.md"])
    assert paths == [Path("<given 1>/note.md"), Path("<given 2>/a.pdf"), Path("b.md")]
    assert given[paths[0]] is note
    assert given[paths[1]].text == "Text."


def test_metadata_is_embedded_as_the_reader_says(handbook: Path) -> None:
    [document] = given_documents(pages(handbook, "1", "2", "3", "4"))[1].values()
    assert "file_path" not in document.excluded_embed_metadata_keys
    assert {"file_name", "page_starts"} <= {*document.excluded_embed_metadata_keys}
