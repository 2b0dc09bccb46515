"""Everything the product does, listed once; command line and REST are derived from this list.

Nothing but names and words is imported here, so that a help text can list them at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.operations.operation import ExitCode, Operation

if TYPE_CHECKING:
    from rag_nodes.operations.base import Surface

__all__ = ["GROUPS", "OPERATIONS", "ExitCode", "Operation", "named"]

MODELS = (
    "embedding",
    "embedding_model",
    "embedding_options",
    "llm",
    "llm_model",
    "llm_options",
    "api_base",
    "retry_seconds",
)
"""Settings that choose the models."""
STORE = ("store", "store_options")
"""Settings that choose the store."""
ANSWERS = ("temperature", "max_output_tokens")
"""Settings of the model that answers."""
SERVED: tuple[Surface, ...] = ("cli", "rest")
"""Surfaces of what visitors of a server can request, too."""
_COMPLETED = "What was stored stays valid; run the same command again to complete it."
_REMOVED = "What was removed is gone; run the same command again to remove the rest."
_RESUMED = "What a model wrote, if one was asked, is kept: --resume uses it."
_CACHED = "What a paid model made is kept where --cache names a folder; the rest is made again."
GROUPS = {
    "questions": "Labelled questions: drafts, and checks of them.",
    "store": "Copy a store to a Qdrant server or a folder.",
}
"""First words that several operations share, and what these are about."""

_READING = ("exclude", "encoding", "pdf_engine", "ocr")
"""Settings of what reads files."""


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "compare",
        "comparing:compare",
        "Compare the answers of several parsers to one question.",
        examples=(
            'compare report.pdf --ask "Who approves a change?"',
            'compare a.md --ask "How?" -p heading -p fixed:chunk_size=500',
            'compare report.pdf --ask "Who approves?" --filter page=3-9 --mode sparse',
            'compare docs/ --ask "What does it cost?" --json > result.json',
            'compare --store rag_nodes_data --ask "What does it cost?"',
        ),
        main=("question", "parsers", "budget", "filter"),
        settings=(*_READING, *STORE, "corpus", *ANSWERS, *MODELS),
        defaults=(("store", ":memory:"),),
        surfaces=SERVED,
    ),
    Operation(
        "evaluate",
        "measuring:evaluate",
        "Measure which chunking strategy finds the answers to your questions, and by how much.",
        examples=(
            "evaluate docs/ --questions questions.csv --html report.html",
            "evaluate docs/ --questions q.csv -p recursive -p 'my.module:Splitter(size=9)'",
            "evaluate report.pdf --answers paragraph --html report.html",
            "evaluate docs/ --questions q.json -o run.json --fail-under recall@1000=0.85",
            "evaluate docs/ --questions q.json --baseline run.json",
        ),
        main=("file", "parsers", "budgets", "sizes", "html"),
        settings=(*_READING, *STORE, *MODELS),
        interrupted=_CACHED,
    ),
    Operation(
        "recommend",
        "measuring:recommend",
        "Find the parser and chunk size to use for your documents.",
        examples=(
            "recommend docs/ --questions questions.csv",
            "recommend docs/ --questions q.csv -p heading -p recursive --sizes 150,300,600",
            "recommend docs/ --questions q.csv --export pipeline.py",
            "recommend manual.pdf --answers paragraph --cache .recommend",
        ),
        main=("file", "answers", "parsers", "sizes", "export"),
        settings=(*_READING, *MODELS),
        interrupted=_CACHED,
    ),
    Operation(
        "ingest",
        "ingesting:ingest",
        "Read, split, embed and store documents.",
        examples=(
            "ingest report.pdf manual.md --parser heading",
            "ingest docs/ -p semantic -p fixed --store http://localhost:6333",
            "ingest docs/ -p heading --text summary --llm openai",
            "ingest docs/ --exclude '*.tmp' --exclude drafts --prune",
            "ingest docs/ --embedding openai --dry-run",
            "ingest --from-store --embedding openai --dry-run",
        ),
        main=("parsers", "store", "corpus", "prune", "dry_run"),
        settings=("text", *_READING, *STORE, "ledger", "corpus", *MODELS),
        interrupted=_COMPLETED,
    ),
    Operation(
        "ask",
        "asking:ask",
        "Answer a question from documents, with citations.",
        examples=(
            'ask "Who approves a change?" --parser heading',
            'ask "Who approves?" --filter file=report.pdf --filter heading=Approval',
            'ask "Who approves a change?" --retrieval-only --top-k 5',
            'ask "Who approves a change?" -p heading --corpus contracts --json',
            'ask "Who approves a change?" --collection handbook --mode dense',
            'ask "Who approves a change?" --boxes --json',
        ),
        main=("parser", "corpus", "store", "budget", "filter"),
        settings=(*STORE, "ledger", "corpus", *ANSWERS, *MODELS),
        surfaces=SERVED,
        surplus="Put the question in quotes. Only stored documents are asked; to ask files, type "
        '`rag-nodes compare FILE --ask "QUESTION" --parser retrieval`.',
    ),
    Operation(
        "status",
        "stored:status",
        "Show each collection: its parser, model, size and age.",
        examples=("status", "status --store http://localhost:6333 --json"),
        main=("parser", "corpus", "store"),
        settings=(*STORE, "ledger"),
    ),
    Operation(
        "list",
        "stored:list_documents",
        "List the documents of a corpus, with what is stored of each.",
        examples=("list --corpus contracts", "list --state incomplete,expired"),
        main=("parser", "state", "corpus", "store"),
        settings=(*STORE, "ledger", "corpus"),
    ),
    Operation(
        "remove",
        "stored:remove",
        "Remove documents from every collection of the corpus.",
        examples=("remove docs/old.pdf", "remove old.pdf --dry-run"),
        main=("dry_run", "corpus", "store"),
        settings=(*STORE, "ledger", "corpus"),
        interrupted=_REMOVED,
    ),
    Operation(
        "clear",
        "stored:clear",
        "Delete a corpus, or the chunks that one parser made of it.",
        examples=("clear --corpus contracts --yes", "clear --parser fixed:chunk_size=500 --yes"),
        main=("parser", "yes", "corpus", "store"),
        settings=(*STORE, "ledger", "corpus"),
        interrupted=_REMOVED,
    ),
    Operation(
        "doctor",
        "stored:doctor",
        "Check a store for damage and suggest fixes.",
        examples=(
            "doctor",
            "doctor --store http://localhost:6333",
            "doctor --languages --embedding openai",
        ),
        main=("languages", "store", "embedding"),
        settings=(
            *STORE,
            "ledger",
            "embedding",
            "embedding_model",
            "embedding_options",
            "api_base",
        ),
    ),
    Operation(
        "read",
        "documents:read",
        "Show what was read from documents: pages, headings, tables, links, warnings.",
        examples=("read report.pdf", "read report.pdf --markdown"),
        main=("markdown",),
        settings=_READING,
    ),
    Operation(
        "chunk",
        "documents:chunk",
        "Show how a parser splits a document: offsets, pages, tokens, headings.",
        examples=(
            "chunk manual.md --parser heading",
            "chunk report.pdf -p fixed:chunk_size=500 --full",
            "chunk report.pdf -p semantic --json | jq .chunks[].tokens",
        ),
        main=("parser", "full"),
        settings=("encoding", "pdf_engine", "ocr", *MODELS),
        surfaces=SERVED,
    ),
    Operation(
        "locate",
        "boxes:locate",
        "Show where a PDF prints a text: a box for each line, in points from the upper left.",
        examples=('locate report.pdf --page 3 --text "The chief engineer approves a change."',),
        main=("page", "text", "within"),
        settings=("pdf_engine", "ocr"),
    ),
    Operation(
        "docs",
        "crawls:docs",
        "Split, check and summarise a crawl of documentation.",
        examples=(
            "docs crawl.json chunks.json",
            "docs crawl.json chunks.jsonl --max-tokens 500 --no-summaries",
        ),
        main=("parser", "max_tokens", "summaries"),
        settings=MODELS,
        interrupted=_RESUMED,
    ),
    Operation(
        "parsers",
        "documents:parsers",
        "List the parsers with their options and defaults.",
        examples=("parsers", "parsers --json"),
    ),
    Operation(
        "questions draft",
        "labelled:draft",
        "Draft questions about documents that have none, each with the exact place of its answer.",
        examples=(
            "questions draft faq.md --output drafts.json",
            "questions draft docs/ --llm openai --answers paragraph -o drafts.json",
        ),
        main=("output", "count", "llm", "answers"),
        settings=(
            *_READING,
            "llm_model",
            "llm_options",
            "api_base",
            "retry_seconds",
        ),
        interrupted=_RESUMED,
    ),
    Operation(
        "questions check",
        "labelled:check",
        "Find faults of questions before you measure with them.",
        examples=("questions check questions.csv docs/",),
        settings=_READING,
    ),
    Operation(
        "store push",
        "copying:push",
        "Copy a store to a Qdrant server or another folder; nothing is embedded again.",
        examples=(
            "store push https://qdrant.example.com:6333 --store rag_nodes_data",
            "store push backup --prune",
            "store push rag_nodes_data --store https://qdrant.example.com:6333",
        ),
        main=("collections", "all", "prune", "corpus", "store"),
        settings=(*STORE, "ledger", "corpus"),
        interrupted=_COMPLETED,
    ),
    Operation(
        "store export",
        "copying:export",
        "Write a store to a folder that qdrant-client opens; nothing is embedded again.",
        examples=(
            "store export qdrant_folder",
            "store export qdrant_folder --store https://qdrant.example.com:6333",
        ),
        main=("collections", "store"),
        settings=STORE,
        interrupted="Nothing was written; run the same command again.",
    ),
)
"""All operations, in the order in which a help text lists them."""


def named(name: str) -> Operation:
    """The operation of that name, which there has to be."""
    return {operation.name: operation for operation in OPERATIONS}[name]
