"""The options several commands share, declared once."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from rag_nodes.parsers.presets import COMPARED, DEFAULT_PARSER, SWEPT, parser_names

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

_MODELS = "Models"
_ASSIGNMENT = "OPTION=VALUE"
_OUTPUT = "Output"
_SEARCH = "Search"

SETTINGS: dict[str, Any] = {
    "store": Annotated[
        str | None,
        typer.Option(help="':memory:', a folder, or the URL of a Qdrant server."),
    ],
    "store_options": Annotated[
        list[str] | None,
        typer.Option(
            "--store-option",
            metavar=_ASSIGNMENT,
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
        str | None, typer.Option(help="Name that keeps one set of documents apart.")
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
            metavar=_ASSIGNMENT,
            help="Option of that embedding's class, repeatable: model_name=nomic-embed-text. Keys "
            "are taken from the environment.",
            rich_help_panel=_MODELS,
        ),
    ],
    "embedding_model": Annotated[
        str | None,
        typer.Option(help="Name of the OpenAI embedding model.", rich_help_panel=_MODELS),
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
            metavar=_ASSIGNMENT,
            help="Option of that LLM's class, repeatable: model=llama3.2.",
            rich_help_panel=_MODELS,
        ),
    ],
    "llm_model": Annotated[
        str | None, typer.Option(help="Name of the chat model.", rich_help_panel=_MODELS)
    ],
    "api_base": Annotated[
        str | None,
        typer.Option(help="Address of a compatible server.", rich_help_panel=_MODELS),
    ],
    "retry_seconds": Annotated[
        float | None,
        typer.Option(
            help="Seconds for which a failing request is repeated.", rich_help_panel=_MODELS
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

_PARSER = "NAME[:OPTION=VALUE,...]"
_NAMES = ", ".join(parser_names())
_FOREIGN = (
    "Or a splitter of another package by import path, as "
    "'llama_index.core.node_parser:SentenceSplitter(chunk_size=512)'; or a preset file (.toml, "
    ".json), as `recommend --save` writes it."
)

ComparedParsers = Annotated[
    list[str] | None,
    typer.Option(
        "--parser",
        "-p",
        metavar=_PARSER,
        help=f"Parser to use, repeatable: {_NAMES}; {', '.join(COMPARED[:-1])} and {COMPARED[-1]} "
        f"by default. {_FOREIGN}",
        show_default=False,
    ),
]
SweptParsers = Annotated[
    list[str] | None,
    typer.Option(
        "--parser",
        "-p",
        metavar=_PARSER,
        help=f"Parser to try, repeatable: {_NAMES}; {', '.join(SWEPT[:-1])} and {SWEPT[-1]} by "
        f"default. {_FOREIGN}",
        show_default=False,
    ),
]
IngestedParsers = Annotated[
    list[str] | None,
    typer.Option(
        "--parser",
        "-p",
        metavar=_PARSER,
        help=f"Parser to use, repeatable: {_NAMES}; {DEFAULT_PARSER} by default. {_FOREIGN}",
        show_default=False,
    ),
]
OneParser = Annotated[
    str,
    typer.Option(
        "--parser",
        "-p",
        metavar=_PARSER,
        help=f"Parser to use: {_NAMES}. {_FOREIGN}",
    ),
]
AskedParser = Annotated[
    str | None,
    typer.Option(
        "--parser",
        "-p",
        metavar=_PARSER,
        help=f"Parser of the ingest: {_NAMES}; by default {DEFAULT_PARSER}, or the one preset that "
        f"the corpus was cut by. {_FOREIGN}",
        show_default=False,
    ),
]
StoredParser = Annotated[
    str,
    typer.Option(
        "--parser",
        "-p",
        metavar="NAME[:OPTION=VALUE,...]",
        help="Only what this parser cut: its class as `status` shows it, a preset with the options "
        "of the ingest, or the name of a collection.",
        show_default=False,
    ),
]
AskedAlias = Annotated[
    str | None,
    typer.Option(
        "--alias",
        metavar="NAME",
        help="Ask what an alias means, instead of naming parser and corpus; see `store alias`.",
        show_default=False,
    ),
]
SwitchedAlias = Annotated[
    str | None,
    typer.Option(
        "--alias",
        metavar="NAME",
        help="When all is stored, have this alias mean it; see `store alias`. For one parser.",
        show_default=False,
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar=_ASSIGNMENT,
        help="Change an option of every chosen parser that has it, repeatable.",
    ),
]
FurtherVectorNames = Annotated[
    list[str] | None,
    typer.Option(
        "--vector",
        metavar="NAME",
        help="Embed the chunks in a further way as well, repeatable: their text alone (plain), or "
        "behind what is written about each, a summary or where in its document it belongs "
        "(context, which needs an LLM). With the headings above them (heading) they always are. "
        "Later ingests keep up to date what is stored, named or not; none stops that.",
        show_default=False,
    ),
]
ComparedVectors = Annotated[
    list[str] | None,
    typer.Option(
        "--vector",
        metavar="NAME",
        help="By which embedding of the chunks is searched: with the headings above them (heading, "
        "the default), their text alone (plain), or behind what is written about each (summary, "
        "context). Repeatable: every column is then asked by each.",
        rich_help_panel=_SEARCH,
        show_default=False,
    ),
]
ShownChunks = Annotated[int, typer.Option("--chunks", min=0, help="Chunks to show per parser.")]

SEARCH: dict[str, Any] = {
    "granularity": Annotated[
        Literal["sentences", "chunks"] | None,
        typer.Option(
            help="Read the sentences that answer, out of what is found and what stands beside it "
            "(sentences), or whole chunks as they are found (chunks). Comparisons of parsers read "
            "chunks, as does --top-k; else sentences are read.",
            rich_help_panel=_SEARCH,
            show_default=False,
        ),
    ],
    "mode": Annotated[
        Literal["hybrid", "dense", "sparse"] | None,
        typer.Option(
            help="Search by meaning and words (hybrid, the default), by meaning only (dense) or by "
            "words only (sparse).",
            rich_help_panel=_SEARCH,
            show_default=False,
        ),
    ],
    "vector": Annotated[
        Literal["heading", "plain", "summary", "context"] | None,
        typer.Option(
            help="Compare this embedding of the chunks: with the headings above them (heading, the "
            "default), or one that `ingest --vector` made.",
            rich_help_panel=_SEARCH,
            show_default=False,
        ),
    ],
    "expand": Annotated[
        Literal["auto", "none", "neighbours", "parent"] | None,
        typer.Option(
            help="Read around what is found: the window or parent that the parser made (auto, the "
            "default), nothing, the chunks before and after, or the parent even in pieces.",
            rich_help_panel=_SEARCH,
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
            rich_help_panel=_SEARCH,
            show_default=False,
        ),
    ],
    "retrieval_only": Annotated[
        bool | None,
        typer.Option(
            "--retrieval-only",
            help="Show what is found and answer nothing.",
            rich_help_panel=_SEARCH,
        ),
    ],
}
"""How commands that answer questions search."""
