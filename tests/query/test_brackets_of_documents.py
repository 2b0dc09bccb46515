"""A document's own bracketed numbers never become citations, however they reach an answer."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import Document
from plant import offline_models, scripted_models

from rag_nodes.apps.panes.text import answer_text
from rag_nodes.cli.views.answer import answer_text as answer_in_terminal
from rag_nodes.core.settings import DEFAULT_PROMPT
from rag_nodes.models import Models
from rag_nodes.operations.replies import AnswerReply
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import Answer, CitationSeen, Finished, RagNodesQueryEngine, Source
from rag_nodes.query.citations import marks_of, without_marks
from rag_nodes.query.prompts import fill
from rag_nodes.store import open_store

QUESTION = "What do data transfer nodes provide?"
FACT = "Data transfer nodes provide file access"
DOCUMENTS = {
    "report": f"{FACT} through Globus [9], rclone [10]\u2013[13] and Lustre [5].",
    "paper": f"{FACT} as shown before [1, 3], with gains of 4 % [2-4; 7] (see also [1, p. 12]).",
    "standard": f"{FACT} according to [1] and to clause 5 of [2]; see Table 3 [1].",
    "encyclopaedia": f"{FACT}[1] since 2010.[2][3] Fast.[1]:12 [[4]](#cite_note-4) \\[5\\]",
    "wrapped lines": f"{FACT} [1,\n2] and more [\n3 ]. Wide \uff3b4\uff3d, hidden [\u200b5].",
    "imitation": f"{FACT} [Source 1]. [Source 2 - Page 9]: [Sources 1,2] [source #3] [SOURCE\n4]",
    "code": f"{FACT}:\n\n```python\nrow[1] = [1, 2]\n```\n\nand `[3]`.",
}
SOURCES = re.compile(r"\[Source (\d+)[^\]]*\]: ")


def engines(text: str, models: Models) -> Iterator[RagNodesQueryEngine]:
    filler = "\n\n".join(
        f"# Part {number}\n\nA sentence about nothing, {number}." for number in range(4)
    )
    document = Document(text=f"# Transfer\n\n{text}\n\n{filler}\n", id_="report")
    with open_store(":memory:") as store:
        parser = get_parser("heading", chunk_size=200, min_chunk_size=0)
        report = ingest_documents([document], {"heading": parser}, store, models=models)
        yield RagNodesQueryEngine(
            store=store, collection=report.columns[0].collection, models=models
        )


def copying(*, tidies: bool) -> Models:
    """A model that copies the excerpts word for word and cites the first one at the end."""

    def copied_marker(prompt: str) -> str:
        excerpts = prompt.partition("<<<EXCERPTS\n")[2].partition("\nEXCERPTS>>>")[0]
        copied = SOURCES.sub("", excerpts)
        return f"{' '.join(copied.split()) if tidies else copied} [Source 1]"

    return scripted_models(copied_marker)


def chips(answer: Answer) -> list[str]:
    html = answer_text(answer.text, answer.marks, lambda *_: ("", 0))
    return re.findall(r'class="rn-chip"[^>]*>\[(\d+)\]<', html)


@pytest.mark.parametrize("kind", sorted(DOCUMENTS.keys() - {"code"}))
def test_quoted_sentences_keep_their_brackets_as_text_and_cite_only_where_they_stand(
    kind: str,
) -> None:
    for engine in engines(DOCUMENTS[kind], offline_models()):
        answer = engine.answer(QUESTION)
        assert answer.kind == "extract"
        assert len(answer.marks) == len(answer.citations)
        for mark, citation in zip(answer.marks, answer.citations, strict=True):
            assert mark.numbers == (citation.number,)
            assert answer.text[mark.start : mark.end] == f"[Source {citation.number}]"
        own = re.findall(r"\[[^\]]*\]", " ".join(DOCUMENTS[kind].split()))
        quoted = [marker for marker in own if marker in answer.text]
        assert quoted, "the sentence is quoted as it is in the document"
        assert len(chips(answer)) == len(answer.citations)
        assert answer.unknown_sources == ()


@pytest.mark.parametrize("tidies", [False, True])
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_model_that_copies_a_document_cites_only_the_source_it_names(
    kind: str, *, tidies: bool
) -> None:
    for engine in engines(DOCUMENTS[kind], copying(tidies=tidies)):
        answer = engine.answer(QUESTION)
        assert answer.kind == "generated"
        assert FACT in answer.text
        assert [citation.number for citation in answer.citations] == [1]
        assert answer.unknown_sources == ()
        assert chips(answer) == ["1"]
        events = list(engine.stream(QUESTION))
        assert [event.citation.number for event in events if isinstance(event, CitationSeen)] == [1]
        assert isinstance(events[-1], Finished)
        assert events[-1].answer.marks == answer.marks


def test_the_marks_of_an_answer_are_in_plain_data_rest_and_terminal() -> None:
    for engine in engines(DOCUMENTS["report"], offline_models()):
        answer = engine.answer(QUESTION)
        marks = answer.as_dict()["marks"]
        assert marks == [
            mark.model_dump(mode="json") for mark in AnswerReply(**answer.as_dict()).marks
        ]
        assert [answer.text[marker["start"] : marker["end"]] for marker in marks] == ["[Source 1]"]
        shown = answer_in_terminal(answer)
        bold = [shown.plain[span.start : span.end] for span in shown.spans if span.style == "bold"]
        assert bold == ["[Source 1]"]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("Fast [1-3].", ["[1-3]"]),
        ("Fast [1\u20133], safe [1, p. 4].", ["[1\u20133]", "[1, p. 4]"]),
        ("Fast [2 - Page 9].", ["[2 - Page 9]"]),
        ("Use `[1]` and `a` then [2].", ["[2]"]),
        ("```python\nx = [1]\n```\n[2]", ["[2]"]),
        ("- ```\n  x = [1]\n  ```\n- so [2]", ["[2]"]),
        ("A stray ` and [1], then\nmore [2].", ["[1]", "[2]"]),
        ("Digits are [0-9], blanks make no mark: [ 1 ].", []),
    ],
)  # fmt: skip
def test_a_mark_is_what_models_write_and_never_code(text: str, marked: list[str]) -> None:
    assert [text[mark.start : mark.end] for mark in marks_of(text)] == marked


def test_code_keeps_its_brackets_and_prose_its_numbers_in_what_a_model_reads() -> None:
    text = "As in [12]:\n\n```python\nrow[1] = [1, 2]\n```\n\nUse `a[0]`, not [a], [2019]."
    expected = "As in (12):\n\n```python\nrow[ 1 ] = [ 1, 2 ]\n```\n\nUse `a[0]`, not [a], [2019]."
    assert without_marks(text) == expected


def test_a_number_in_brackets_in_the_question_is_no_source_either() -> None:
    prompt = fill(DEFAULT_PROMPT, [Source(1, (), "text", "Source 1", 1)], "What is [5]?")
    assert prompt.count("[5]") == 0
    assert "What is (5)?" in prompt


_HOSTILE = st.lists(
    st.sampled_from(
        ["[", "]", "1", "2", ", ", "-", "Source ", "source #3", "[4]", "[Source 5]", "\\", "p. 6",
         "`", "```", "\n", "~~~\n", " ", "and", "x", "(", ")", "#", "\u200b", "\uff3b", "\uff3d"]
    ),
    max_size=16,
).map("".join)  # fmt: skip


@given(_HOSTILE, st.booleans())
def test_no_text_copied_from_the_context_reads_as_a_mark(text: str, tidied: bool) -> None:
    source = Source(number=1, hits=(), text=text, label="Source 1", tokens=1)
    prompt = fill("{context}\n===\n{question}", [source], "why?")
    copied = prompt.removeprefix("[Source 1]: ").partition("\n===")[0]
    assert marks_of(" ".join(copied.split()) if tidied else copied) == ()
    assert marks_of(re.sub("[`~]", "", copied)) == ()


def test_only_as_many_backticks_as_began_code_end_it() -> None:
    assert without_marks("```\n[1, 2]\n```\n") == "```\n[ 1, 2 ]\n```\n"
    assert without_marks("````\n```\n[1, 2]\n````\n[5]") == "````\n```\n[ 1, 2 ]\n````\n(5)"
    assert without_marks("````\n[1, 2]\n```\n") == "````\n(1, 2)\n```\n"


@pytest.mark.parametrize("text", ["[Sources of A [1], 2]", "[Sources ~ [Sources 1]` 1, 2]` ]"])
def test_brackets_around_a_mark_are_none_once_that_is_unmade(text: str) -> None:
    assert marks_of(without_marks(text)) == ()
