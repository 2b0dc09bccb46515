"""`rag-nodes ingest`: documents into a store, through one or more parsers."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_nodes.cli.choices import Changes, FurtherVectorNames, IngestedParsers, SwitchedAlias
from rag_nodes.cli.executors import (
    EngineName,
    NumGpus,
    RayAddress,
    Workers,
    executor_of,
)
from rag_nodes.cli.failures import conclude
from rag_nodes.cli.files import check_there
from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.old_progress import DOCUMENTS, ingest_words, shown_progress
from rag_nodes.cli.options import MODEL_SETTINGS, STORE_SETTINGS
from rag_nodes.cli.selection import select
from rag_nodes.cli.stores import MEMORY, exists
from rag_nodes.cli.views.ingest import dry_run_view, ingest_view
from rag_nodes.errors import ConfigurationError
from rag_nodes.ledger import WEB_HOURS
from rag_nodes.parsers.presets import DEFAULT_PARSER

if TYPE_CHECKING:
    from rag_nodes.pipeline import IngestReport
    from rag_nodes.readers import FileShard
    from rag_nodes.store import Store

_WRITTEN = {"summary", "context"}
"""Vectors for which a model writes."""
_NONE = "none"
"""Keeps no vectors that are stored and not named."""

Prune = Annotated[
    bool,
    typer.Option(
        "--prune",
        help="Remove what is gone from PATH: documents of files that were deleted or emptied, and "
        "pages that a crawl has no more. Refused where PATH is missing or has none left.",
    ),
]
Hours = Annotated[
    float,
    typer.Option(
        min=0,
        metavar="HOURS",
        help="When pages of a crawl are due again though its file did not change; 0 for never.",
    ),
]

DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Count and price what is due; ask no model and store nothing."),
]


@takes(*STORE_SETTINGS, "ledger", "corpus", *MODEL_SETTINGS)
def ingest(  # noqa: PLR0913 - the options of the command
    cli: Invocation,
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Files, and folders to walk; crawls are named."),
    ],
    parser: IngestedParsers = None,
    changes: Changes = None,
    vector: FurtherVectorNames = None,
    alias: SwitchedAlias = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Only every N-th file or so, by a hash of its path below PATH: for schedulers "
            "that start N runs, of 1/N to N/N, against one server or into N folders.",
        ),
    ] = None,
    *,
    prune: Prune = False,
    ttl: Hours = WEB_HOURS,
    dry_run: DryRun = False,
    workers: Workers = None,
    engine: EngineName = None,
    ray_address: RayAddress = None,
    num_gpus: NumGpus = 0.0,
) -> None:
    """Read documents, cut them, and store the chunks.

    Running it again adds nothing, and opens no file that did not change; a changed file replaces
    its chunks.
    """
    _check_alias(alias, parser or [], shard)
    share = _shard(shard)
    if not prune:  # which says itself what a folder that is not there means
        check_there(paths)
    selection = select(parser or [DEFAULT_PARSER], changes or ())
    settings = cli.settings()
    if dry_run and not exists(settings.store):
        settings = settings.model_copy(update={"store": MEMORY})  # opening a folder makes it
    with cli.activity("Loading parsers and models"):
        from rag_nodes.pipeline import ingest as ingested
        from rag_nodes.transforms import FurtherVectors

        workspace = cli.workspace(settings)
        chosen = executor_of(workers or ("auto" if engine else "1"), engine, ray_address, num_gpus)
        if chosen == "auto":
            from rag_nodes.executors import Pool

            chosen = Pool()
        models = workspace.models(answers=bool(_WRITTEN & {*(vector or ())}), check=not dry_run)
        parsers = selection.build(models)
        names = [one for one in vector or () if one != _NONE]
        steps = [FurtherVectors(*names, keep=_NONE not in (vector or ()))]
    cli.note(models.describe())
    if engine == "ray" and "://" not in workspace.store.location:
        cli.note("One process writes a folder; Ray pays where the store is a server.")
    bars = [DOCUMENTS, *parsers]
    words = partial(ingest_words, dry_run=dry_run)
    with workspace, shown_progress(cli, bars, words) as progress:
        report = ingested(
            paths,
            parsers,
            workspace.store,
            models=models,
            transformations=steps,
            corpus=settings.corpus,
            limits=workspace.limits(),
            progress=progress,
            prices=settings.answering().get("prices", {}),
            ledger=settings.ledger,
            ttl=ttl,
            shard=share,
            prune=prune,
            dry_run=dry_run,
            executor=chosen,
        )
        if alias and not dry_run:
            _switch(cli, workspace.store, report, alias)
    if cli.as_json:
        cli.emit(report.as_dict())
    else:
        cli.tell(*(dry_run_view(report) if dry_run else ingest_view(report)))
    if prune and report.pruned is None:
        cli.complain("Nothing was removed, as not all is stored; mend that and run this again.")
    errors = {column.parser: column.error for column in report.columns}
    stored = any(column.stored for file in report.files for column in file.columns.values())
    raise typer.Exit(conclude(cli, report.files, errors, some_done=stored, omitted=report.omitted))


def _check_alias(alias: str | None, parsers: list[str], shard: str | None) -> None:
    """See that an alias can mean what this run stores."""
    if alias and len(parsers) > 1:
        raise ConfigurationError(
            f"--alias {alias} can mean what one parser made, and {len(parsers)} are named; ingest "
            "with each by itself"
        )
    if alias and shard:
        raise ConfigurationError(
            f"--alias {alias} would mean a share of the files while others may be missing; when "
            f"all runs have ended: `rag-nodes store alias {alias}`"
        )


def _switch(cli: Invocation, store: "Store", report: "IngestReport", alias: str) -> None:
    """Have an alias mean the one column, unless who asks by it would miss something then."""
    [column] = report.columns
    missed = [column.parser] if column.error else _missed(store, report, alias)
    if missed:
        more = f" and {len(missed) - 1} more" if missed[1:] else ""
        cli.complain(
            f"Not all is stored ({missed[0]}{more}), so the alias {alias} means what it meant. To "
            "have it mean the new chunks all the same: "
            f"`rag-nodes store alias {alias} {column.collection}`"
        )
        return
    store.point_alias(alias, column.collection)
    cli.note(f"{alias} now means {column.collection}")


def _missed(store: "Store", report: "IngestReport", alias: str) -> list[str]:
    """Files that are not stored whole, or that are only found by what the alias means so far.

    A file that never could be read is not among them: one scanned page in a folder would hold back
    every switch.
    """
    from rag_nodes.readers import COLLECTIONS, document_id

    former = store.aliases().get(alias)

    def is_found(path: Path) -> bool:
        holds_many = path.suffix.lower() in COLLECTIONS  # whose ids only their content tells
        return holds_many or bool(former and store.stored(former, document_id(path.resolve())))

    return [
        file.path
        for file in report.files
        if file.status == "incomplete" or (file.status == "failed" and is_found(Path(file.path)))
    ]


def _shard(words: str | None) -> "FileShard | None":
    if words is None:
        return None
    from rag_nodes.readers import FileShard

    return FileShard.of(words)
