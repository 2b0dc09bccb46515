"""`rag-nodes ask`: one question to documents that are stored already."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_nodes.cli.options import MODEL_SETTINGS, Changes, OneParser, ShownChunks, takes
from rag_nodes.cli.render_answer import answer_view
from rag_nodes.cli.render_text import counted
from rag_nodes.cli.selection import select
from rag_nodes.cli.session import Session, context_budget
from rag_nodes.errors import CollectionMissingError, ConfigurationError

if TYPE_CHECKING:
    from rag_nodes.store import Store

_IN_MEMORY = ":memory:"


@takes("store", "corpus", "budget", "top_k", *MODEL_SETTINGS)
def ask(
    session: Session,
    question: Annotated[str, typer.Argument(help="In your own words.")],
    parser: OneParser = "heading",
    changes: Changes = None,
    chunks: ShownChunks = 3,
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
        from rag_nodes.query import ask as ask_engine
        from rag_nodes.store import parser_collection

        models = session.models(settings)
        ((label, made),) = selection.build(models).items()
    collection = parser_collection(settings.corpus, made, models.embedding_name)
    with session.store(settings) as store, _contents_named(session, store):
        answer = ask_engine(
            question,
            store=store,
            collection=collection,
            models=models,
            parser_name=label,
            budget=context_budget(settings),
            top_k=settings.top_k,
        )
    if session.as_json:
        about = {"parser": label, "collection": collection, "models": models.describe()}
        session.emit({**about, **answer.as_dict()})
    else:
        session.show(*answer_view(answer, models.describe(), session.output.width, shown=chunks))


@contextmanager
def _contents_named(session: Session, store: "Store") -> Iterator[None]:
    """Where a collection is missing, say which there are: one of them is probably meant."""
    try:
        yield
    except CollectionMissingError:
        for found in store.collections():
            session.complain(
                f"stored: corpus {found.corpus}, {found.parser}, embedded by {found.embedding}, "
                f"{counted(found.points, 'chunk')}"
            )
        raise
