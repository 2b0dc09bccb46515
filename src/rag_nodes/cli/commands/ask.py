"""`rag-nodes ask`: one question to documents that are stored already."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_nodes.cli.answering import Expanded, Filters, Mode, RetrievalOnly, query_options
from rag_nodes.cli.options import (
    ANSWER_SETTINGS,
    DEFAULT_PARSER,
    MODEL_SETTINGS,
    Changes,
    OneParser,
    ShownChunks,
    takes,
)
from rag_nodes.cli.render.answer import answer_view, evidence_view, header_of
from rag_nodes.cli.render.text import counted
from rag_nodes.cli.selection import select
from rag_nodes.cli.session import Session
from rag_nodes.errors import CollectionMissingError, ConfigurationError

if TYPE_CHECKING:
    from rag_nodes.query import RagNodesQueryEngine
    from rag_nodes.store import Store

_IN_MEMORY = ":memory:"


@takes("store", "corpus", *ANSWER_SETTINGS, *MODEL_SETTINGS)
def ask(  # noqa: PLR0913 - one parameter for each option
    session: Session,
    question: Annotated[str, typer.Argument(help="In your own words.")],
    parser: OneParser = DEFAULT_PARSER,
    changes: Changes = None,
    chunks: ShownChunks = 3,
    *,
    mode: Mode = None,
    expand: Expanded = None,
    filters: Filters = None,
    retrieval_only: RetrievalOnly = False,
) -> None:
    """Answer a question from stored documents, with citations.

    The parser, its options, the corpus and the embedding model must be those of the ingest.
    """
    selection = select([parser], changes or ())
    settings = session.settings()
    if settings.store == _IN_MEMORY:
        raise ConfigurationError(
            f"--store {_IN_MEMORY} holds nothing to ask; name the folder or URL of the ingest, or "
            "use 'rag-nodes compare', which does both"
        )
    if "://" not in settings.store and not Path(settings.store).is_dir():
        raise CollectionMissingError(
            f"{settings.store}: there is no store here; check --store, or ingest documents first"
        )
    with session.activity("Loading parsers and models"):
        from rag_nodes.query import RagNodesQueryEngine
        from rag_nodes.store import parser_collection

        options = query_options(
            session, mode=mode, expand=expand, filters=filters, retrieval_only=retrieval_only
        )
        models = session.models(settings)
        ((label, made),) = selection.build(models).items()
    collection = parser_collection(settings.corpus, made, models.embedding_name)
    with session.store(settings) as store, _contents_named(session, store):
        engine = RagNodesQueryEngine(
            store=store, collection=collection, models=models, parser_name=label, options=options
        )
        if session.output.is_terminal and not session.as_json:
            _show_growing(session, engine, question, chunks)
            return
        answer = engine.answer(question)
    if session.as_json:
        about = {"parser": label, "collection": collection, "models": models.describe()}
        session.emit({**about, **answer.as_dict()})
    else:
        session.show(*answer_view(answer, models.describe(), session.output.width, shown=chunks))


def _show_growing(
    session: Session, engine: "RagNodesQueryEngine", question: str, chunks: int
) -> None:
    """The answer word by word as it arrives, then what is behind it."""
    from rag_nodes.cli.streaming import streamed_answer

    session.show(header_of(question, engine.models.describe()))
    answer = streamed_answer(engine.stream(question), session.output)
    session.show(*evidence_view(answer, session.output.width, shown=chunks))


@contextmanager
def _contents_named(session: Session, store: "Store") -> Iterator[None]:
    """Where a collection is missing, say which there are: one of them is probably meant."""
    try:
        yield
    except CollectionMissingError:
        for found in store.collections():
            session.complain(
                f"stored: corpus {found.corpus}, {found.parser}, embedded by {found.embedding}, "
                f"{counted(found.points, 'node')}"
            )
        raise
