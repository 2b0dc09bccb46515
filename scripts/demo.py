"""Shows one answer with its source and one verdict, offline: `make demo` runs it.

`make demo VERBOSE=1` adds every answer of four parsers and the whole evaluation.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter

from rag_nodes import RagNodesQueryEngine, get_parser, ingest, open_store
from rag_nodes.core.errors import RagNodesError
from rag_nodes.core.settings import Settings
from rag_nodes.evaluation.importers import load_dataset
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.run import evaluate
from rag_nodes.models import choose_models
from rag_nodes.readers import read_all

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = Path(sys.executable).with_name("rag-nodes")
EMBEDDING, LLM = "lexical", "extractive"
"""Models that need neither key nor download, even if a key is configured."""
WIDTH = 100
_LABEL_WIDTH = 11


def answered(path: str, question: str) -> list[tuple[str, str]]:
    """Return the question, the first sentence of its answer and where that is printed."""
    parser = get_parser("retrieval")
    with open_store() as store:
        ingest([path], {"retrieval": parser}, store, embed_model=EMBEDDING)
        engine = RagNodesQueryEngine(
            store=store, parser="retrieval", embed_model=EMBEDDING, llm=LLM
        )
        answer = engine.answer(question)
    lines = [("Question", question), ("Answer", answer.text.partition("\n\n")[0])]
    for citation in answer.citations[:1]:
        page = f"page {citation.page}" if citation.page else ""
        heading = citation.heading_path[-1] if citation.heading_path else ""
        span = f"characters {citation.start}-{citation.end}"
        parts = filter(None, (citation.file_name, page, heading, span))
        lines.append((f"Source {citation.number}", ", ".join(parts)))
    return lines


def documents_of(path: str) -> list[Document]:
    """Return the documents of a file or a folder.

    Raises:
        RagNodesError: nothing there can be read.
    """
    rows = list(read_all(path))
    documents = [row.document for row in rows if row.document]
    errors = [row.error for row in rows if row.error]
    if errors and not documents:
        raise errors[0]
    return documents


def verdict(documents: list[Document], questions: str) -> str:
    """Return the decision between LlamaIndex's splitter and ours, as the README shows it."""
    report = evaluate(
        load_dataset(questions, documents),
        {"SentenceSplitter": SentenceSplitter(), "retrieval": get_parser("retrieval")},
        plan=EvaluationPlan(sizes=(), target=None),
        models=choose_models(Settings(embedding=EMBEDDING, llm=LLM)),
    )
    return f"{report.decision.certainty} {report.decision.words}"


def shown(path: str, question: str, questions: str) -> Iterator[str]:
    """Yield the dozen lines that matter, as soon as each is known."""

    def line(label: str, text: str) -> str:
        label = f"{label:<{_LABEL_WIDTH}}"
        return textwrap.fill(
            text, WIDTH, initial_indent=label, subsequent_indent=" " * _LABEL_WIDTH
        )

    documents = documents_of(path)
    yield from (line(*part) for part in answered(path, question))
    if questions:
        yield line("Verdict", verdict(documents, questions))
        yield line("Next", "All answers and figures: make demo VERBOSE=1")
        yield line("", 'Your own document: make demo DOC=report.pdf ASK="Who approves?"')
    else:
        again = f"make demo DOC={shlex.quote(path)} ASK={shlex.quote(question)}"
        yield line("Verdict", "None yet: one question proves little.")
        yield line("Next", "Write twenty questions on the page and download them: make app")
        yield f"{'':<{_LABEL_WIDTH}}{again} QUESTIONS=questions.json"
    yield line("", "Which parser to use: docs/get-started/what-to-use.md")


def details(path: str, question: str, questions: str) -> None:
    """Run the two commands that print every answer and every figure."""
    commands = [["compare", path, "--ask", question]]
    if questions:
        sizes = ["--sizes", "100,400", "--equal-size", "200"]
        commands.append(["evaluate", path, "--questions", questions, *sizes])
    for command in commands:
        sys.stdout.write(f"\n$ rag-nodes {shlex.join(command)}\n")
        sys.stdout.flush()
        offline = ["--embedding", EMBEDDING, "--llm", LLM]
        subprocess.run([PROGRAM, *command, *offline], check=True)  # noqa: S603 -- our own command


def main() -> None:
    """Read the arguments and print the demo.

    Raises:
        SystemExit: a document or a file of questions cannot be read; the message says why.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document")
    parser.add_argument("--ask", required=True, help="Question to answer.")
    parser.add_argument("--questions", default="", help="File of labelled questions.")
    parser.add_argument("--verbose", action="store_true", help="Print every answer and figure.")
    given = parser.parse_args()
    try:
        for line in shown(given.document, given.ask, given.questions):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    except RagNodesError as error:
        sys.exit(str(error))
    if given.verbose:
        details(given.document, given.ask, given.questions)


if __name__ == "__main__":
    main()
