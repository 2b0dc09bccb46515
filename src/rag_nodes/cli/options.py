"""The options several commands share, declared once."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

MODEL_SETTINGS = (
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
STORE_SETTINGS = ("store", "store_options")
"""Settings that choose the store."""
ANSWER_SETTINGS = (
    "budget",
    "top_k",
    "similarity_cutoff",
    "answer_preset",
    "temperature",
    "max_output_tokens",
)
"""Settings of commands that answer questions."""

ASSIGNMENT = "OPTION=VALUE"
"""What the help calls one."""
SEARCH_PANEL = "Search"
"""Where the help shows options of a search."""
_MODELS = "Models"
_OUTPUT = "Output"

SETTINGS: dict[str, Any] = {
    "store": Annotated[
        str | None,
        typer.Option(
            help="':memory:', a folder, or the URL of a Qdrant server; ./rag_nodes_data by "
            "default, but comparisons keep nothing unless one is named."
        ),
    ],
    "store_options": Annotated[
        list[str] | None,
        typer.Option(
            "--store-option",
            metavar=ASSIGNMENT,
            help="Option of the Qdrant server, repeatable: grpc=true, quantization=scalar, "
            "replicas=2. The key is taken from RAG_NODES_STORE_API_KEY.",
        ),
    ],
    "ledger": Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Where to remember what is stored and from which files; by default in the folder "
            "of the store, for a server among this user's data.",
        ),
    ],
    "corpus": Annotated[
        str | None,
        typer.Option(help="Name that keeps one set of documents apart; default by default."),
    ],
    "budget": Annotated[
        int | None,
        typer.Option(help="Tokens of context, the same for each parser; 1500 by default."),
    ],
    "top_k": Annotated[
        int | None,
        typer.Option(help="Chunks per parser instead of a budget of tokens."),
    ],
    "similarity_cutoff": Annotated[
        float | None,
        typer.Option(help="Leave out chunks of a lower cosine similarity, from -1 to 1."),
    ],
    "answer_preset": Annotated[
        str | None,
        typer.Option(
            help="Answer as a source document says: workbench, crawl or pdf-qa. Other options and "
            "settings win over it."
        ),
    ],
    "temperature": Annotated[
        float | None,
        typer.Option(help="Of the chat model, 0 to 2; 0.2 by default.", rich_help_panel=_MODELS),
    ],
    "max_output_tokens": Annotated[
        int | None,
        typer.Option(
            help="Longest answer of the chat model, in its tokens; 1024 by default.",
            rich_help_panel=_MODELS,
        ),
    ],
    "embedding": Annotated[
        str | None,
        typer.Option(
            help="auto (the default), lexical (offline), openai, fastembed:<model> (offline), or "
            "the import path of an embedding of LlamaIndex, as "
            "llama_index.embeddings.ollama:OllamaEmbedding.",
            rich_help_panel=_MODELS,
        ),
    ],
    "embedding_options": Annotated[
        list[str] | None,
        typer.Option(
            "--embedding-option",
            metavar=ASSIGNMENT,
            help="Option of that embedding's class, repeatable: model_name=nomic-embed-text. Keys "
            "are taken from the environment.",
            rich_help_panel=_MODELS,
        ),
    ],
    "embedding_model": Annotated[
        str | None,
        typer.Option(
            help="Name of the OpenAI embedding model; text-embedding-3-small by default.",
            rich_help_panel=_MODELS,
        ),
    ],
    "llm": Annotated[
        str | None,
        typer.Option(
            help="auto (the default), extractive (offline), openai, or the import path of an LLM "
            "of LlamaIndex, as llama_index.llms.ollama:Ollama.",
            rich_help_panel=_MODELS,
        ),
    ],
    "llm_options": Annotated[
        list[str] | None,
        typer.Option(
            "--llm-option",
            metavar=ASSIGNMENT,
            help="Option of that LLM's class, repeatable: model=llama3.2.",
            rich_help_panel=_MODELS,
        ),
    ],
    "llm_model": Annotated[
        str | None,
        typer.Option(
            help="Name of the chat model; gpt-4o-mini by default.", rich_help_panel=_MODELS
        ),
    ],
    "api_base": Annotated[
        str | None,
        typer.Option(
            help="Address of a server compatible with OpenAI, as http://localhost:8000/v1.",
            rich_help_panel=_MODELS,
        ),
    ],
    "retry_seconds": Annotated[
        float | None,
        typer.Option(
            help="Seconds for which a failing request is repeated; 10 by default, 120 for `docs`.",
            rich_help_panel=_MODELS,
        ),
    ],
}

OUTPUT_FLAGS: dict[str, Any] = {
    "as_json": Annotated[
        bool, typer.Option("--json", help="One JSON object on stdout.", rich_help_panel=_OUTPUT)
    ],
    "quiet": Annotated[
        bool,
        typer.Option("--quiet", "-q", help="No progress on stderr.", rich_help_panel=_OUTPUT),
    ],
    "verbose": Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Log and tracebacks on stderr.", rich_help_panel=_OUTPUT
        ),
    ],
    "print_config": Annotated[
        bool,
        typer.Option(
            "--print-config", help="Show the settings, keys masked.", rich_help_panel=_OUTPUT
        ),
    ],
}

SEARCH: dict[str, Any] = {
    "granularity": Annotated[
        Literal["sentences", "chunks"] | None,
        typer.Option(
            help="Read the sentences that answer, out of what is found and what stands beside it "
            "(sentences), or whole chunks as they are found (chunks). Comparisons of parsers read "
            "chunks, as does --top-k; else sentences are read.",
            rich_help_panel=SEARCH_PANEL,
            show_default=False,
        ),
    ],
    "mode": Annotated[
        Literal["hybrid", "dense", "sparse"] | None,
        typer.Option(
            help="Search by meaning and words (hybrid, the default), by meaning only (dense) or by "
            "words only (sparse).",
            rich_help_panel=SEARCH_PANEL,
            show_default=False,
        ),
    ],
    "vector": Annotated[
        Literal["heading", "plain", "summary", "context"] | None,
        typer.Option(
            help="Compare this embedding of the chunks: with the headings above them (heading, the "
            "default), or one that `ingest --vector` made.",
            rich_help_panel=SEARCH_PANEL,
            show_default=False,
        ),
    ],
    "expand": Annotated[
        Literal["auto", "none", "neighbours"] | None,
        typer.Option(
            help="Read around what is found: the window or parent that the parser made (auto, the "
            "default), nothing, or the chunks before and after.",
            rich_help_panel=SEARCH_PANEL,
            show_default=False,
        ),
    ],
    "filter": Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            "-f",
            metavar="KEY=VALUE",
            help="Search only there, repeatable: file=manual.pdf, page=3 or page=3-9, "
            "heading=WORDS that the headings above hold, source=URL of a page of a crawl.",
            rich_help_panel=SEARCH_PANEL,
            show_default=False,
        ),
    ],
    "retrieval_only": Annotated[
        bool | None,
        typer.Option(
            "--retrieval-only",
            help="Show what is found and answer nothing.",
            rich_help_panel=SEARCH_PANEL,
        ),
    ],
}
"""How commands that answer questions search."""
