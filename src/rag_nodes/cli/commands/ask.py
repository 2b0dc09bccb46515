"""`rag-nodes ask`: one question to documents that are stored already."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from rag_nodes.cli.choices import AskedAlias, AskedParser, Changes, ShownChunks
from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.options import ANSWER_SETTINGS, MODEL_SETTINGS, SEARCH, STORE_SETTINGS
from rag_nodes.cli.selection import Selection, query_options, select
from rag_nodes.cli.stores import must_exist, tokens_of
from rag_nodes.cli.views.answer import answer_view, evidence_view, header_of
from rag_nodes.cli.views.stored import foreign_words
from rag_nodes.cli.views.text import counted
from rag_nodes.errors import CollectionMissingError, ConfigurationError
from rag_nodes.parsers.presets import DEFAULT_PARSER

if TYPE_CHECKING:
    from rag_nodes.models import Models
    from rag_nodes.query import Answer, RagNodesQueryEngine
    from rag_nodes.store import Store

_IN_MEMORY = ":memory:"


@takes(*STORE_SETTINGS, "ledger", "corpus", *ANSWER_SETTINGS, *MODEL_SETTINGS, search=SEARCH)
def ask(
    cli: Invocation,
    question: Annotated[str, typer.Argument(help="In your own words.")],
    parser: AskedParser = None,
    changes: Changes = None,
    alias: AskedAlias = None,
    chunks: ShownChunks = 3,
) -> None:
    """Answer a question from stored documents, with citations.

    The parser, its options, the corpus and the embedding model must be those of the ingest. Where
    no parser is named, a corpus that one preset alone has cut is asked by that one.
    """
    if alias and (parser or changes):
        raise ConfigurationError(
            "--alias says what is asked, and so do --parser and --set; leave one of them out"
        )
    selection = select([parser or DEFAULT_PARSER], changes or ())
    settings = cli.settings()
    if settings.store == _IN_MEMORY:
        raise ConfigurationError(
            f"--store {_IN_MEMORY} holds nothing to ask; name the folder or URL of the ingest, or "
            "use 'rag-nodes compare', which does both"
        )
    must_exist(settings.store)
    with cli.activity("Loading parsers and models"):
        from rag_nodes.query import RagNodesQueryEngine

        options = query_options(cli, selection.query)
        workspace = cli.cleanup.enter_context(cli.workspace(settings))
        models = workspace.models()
        if alias:
            label, collection = _meant(workspace.store, alias, models), alias
        else:
            chosen = selection if parser or changes else None
            label, collection = _of_parser(workspace.store, chosen, settings.corpus, models)
    with _contents_named(cli, workspace.store):
        engine = RagNodesQueryEngine(
            store=workspace.store,
            collection=collection,
            models=models,
            parser_name=label,
            options=options,
        )
        if cli.output.is_terminal and not cli.as_json:
            answer = _show_growing(cli, engine, question, chunks)
        else:
            answer = engine.answer(question)
            if not cli.as_json:
                cli.show(*answer_view(answer, models.describe(), cli.output.width, shown=chunks))
    # The ledger knows collections by their own names.
    kept = workspace.store.aliases()[alias] if alias else collection
    read_from = tokens_of(cli, settings, workspace.store.location, kept, _documents(answer))
    reduction = 1 - answer.context_tokens / read_from if read_from else None
    if cli.as_json:
        about = {"parser": label, "collection": collection, "models": models.describe()}
        saved = {"document_tokens": read_from or None, "context_reduction": reduction}
        cli.emit({**about, **answer.as_dict(), **saved})
    elif reduction is not None and reduction > 0:
        cli.note(
            f"Read {answer.context_tokens:,} of the {counted(read_from, 'token')} of these "
            f"documents, {reduction:.0%} less.",
            "dim",
        )


def _documents(answer: "Answer") -> list[str]:
    """Ids of the documents of which something is read."""
    read = (hit.node.ref_doc_id for source in answer.sources for hit in source.hits)
    return list(dict.fromkeys(one for one in read if one))


def _meant(store: "Store", alias: str, models: "Models") -> str:
    """The parser of what an alias means, which the models embedded."""
    from rag_nodes.workspace.workspace import aliased_parser

    return aliased_parser(store, alias, models.embedding_name)


def _of_parser(
    store: "Store", selection: Selection | None, corpus: str, models: "Models"
) -> tuple[str, str]:
    """The parser that is asked, by label, and its collection; None for what the corpus has."""
    from rag_nodes.store import parser_collection
    from rag_nodes.workspace.workspace import asked_preset

    if selection is None:
        selection = select([asked_preset(store, corpus, models.embedding_name)])
    ((label, made),) = selection.build(models).items()
    return label, parser_collection(corpus, made, models.embedding_name)


def _show_growing(
    cli: Invocation, engine: "RagNodesQueryEngine", question: str, chunks: int
) -> "Answer":
    """The answer word by word as it arrives, then what is behind it."""
    from rag_nodes.cli.views.streaming import streamed_answer

    cli.show(header_of(question, engine.models.describe()))
    answer = streamed_answer(engine.stream(question), cli.output)
    cli.show(*evidence_view(answer, cli.output.width, shown=chunks))
    return answer


@contextmanager
def _contents_named(cli: Invocation, store: "Store") -> Iterator[None]:
    """Where a collection is missing, say which there are: one of them is probably meant."""
    try:
        yield
    except CollectionMissingError:
        stored = store.collections()
        for found in stored:
            cli.complain(
                f"stored: corpus {found.corpus}, {found.parser}, embedded by {found.embedding}, "
                f"{counted(found.points, 'node')}"
            )
        if stored:
            cli.complain("to ask one of these, name its --parser, --corpus and --embedding")
        elif foreign := store.foreign():
            cli.complain(
                f"nothing is stored{foreign_words(foreign)}; to ask one of these, give it an alias "
                "with `rag-nodes store alias NAME COLLECTION`, and ask with --alias NAME"
            )
        raise
