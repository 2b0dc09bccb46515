"""`rag-nodes recommend`: which parser and size to take, or that the data cannot tell."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from rag_nodes.cli.choices import Changes, SweptParsers
from rag_nodes.cli.commands.questions import asked_of
from rag_nodes.cli.executors import EngineName, MeasuringWorkers, RayAddress, executor_of
from rag_nodes.cli.failures import ExitCode, resumable, say_uncached
from rag_nodes.cli.files import check_writable, write_text
from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.options import MODEL_SETTINGS
from rag_nodes.cli.render.progress import EVALUATION_BAR, evaluation_words, shown_progress
from rag_nodes.cli.render.recommendation import recommendation_view
from rag_nodes.cli.render.text import one_line
from rag_nodes.cli.selection import query_options, select
from rag_nodes.cli.typed import numbers
from rag_nodes.errors import ConfigurationError
from rag_nodes.parsers.preset_files import name_of_preset

if TYPE_CHECKING:
    from rag_nodes.evaluation.plan import EvaluationPlan
    from rag_nodes.evaluation.recommendation import Recommendation
    from rag_nodes.models import Models
    from rag_nodes.store import SearchMode

_TRIED = "What is tried"
TriedVectors = Annotated[
    list[str] | None,
    typer.Option(
        "--vector",
        metavar="NAME",
        help="By which embedding of its chunks the best one is searched as well, repeatable: their "
        "text alone (plain), or behind what is written about each (summary, context, for which an "
        "LLM writes where there is one).",
        rich_help_panel=_TRIED,
        show_default=False,
    ),
]
MODES: "tuple[SearchMode, ...]" = ("hybrid", "dense", "sparse")
"""Ways of searching that are tried with an embedding that knows more than words."""


@takes("similarity_cutoff", *MODEL_SETTINGS, search=("granularity", "mode", "expand", "filter"))
def recommend(  # noqa: PLR0913 -- one parameter per option of the command
    cli: Invocation,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DOCS",
            help="Files and folders to choose for; none where the questions bring their own texts.",
        ),
    ] = None,
    *,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            help="Labelled questions in any format that `evaluate` reads; drafts where none are "
            "given.",
            show_default=False,
        ),
    ] = None,
    drafts: Annotated[
        int,
        typer.Option(
            min=1,
            help="Questions that are drafted from the documents where none are given; see "
            "`questions draft`.",
        ),
    ] = 100,
    parser: SweptParsers = None,
    changes: Changes = None,
    sizes: Annotated[
        str,
        typer.Option(
            metavar="N[,N...]",
            help="Sizes at which every parser is tried, in tokens.",
            rich_help_panel=_TRIED,
        ),
    ] = "100,200,400,800",
    overlaps: Annotated[
        str,
        typer.Option(
            metavar="N[,N...]",
            help="Overlaps with which the best size of every parser is tried as well, in percent "
            "of a chunk; 0 for none.",
            rich_help_panel=_TRIED,
        ),
    ] = "15",
    budget: Annotated[
        str,
        typer.Option(
            metavar="N[,N...]",
            help="Tokens of context, filled exactly by every candidate; the middle one decides.",
            rich_help_panel=_TRIED,
        ),
    ] = "500,1000,2000",
    vector: TriedVectors = None,
    own_document: Annotated[
        bool,
        typer.Option(
            "--own-document",
            help="Search only the document a question is about, as where each reader has one.",
            rich_help_panel=_TRIED,
        ),
    ] = False,
    seed: Annotated[
        int,
        typer.Option(
            min=0, help="Of the drafts, of their order and of the draws.", rich_help_panel=_TRIED
        ),
    ] = 0,
    html: Annotated[
        Path | None,
        typer.Option(help="Write it as one HTML file, with recall over index and over context."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write all of it as JSON.")
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.py",
            help="Write a script that ingests and answers with what is chosen.",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml|FILE.json",
            help="Write what is chosen as a preset file, which --parser of every command, `app` "
            "and `load_preset` in Python read.",
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps paid vectors and finished candidates: a run that was ended "
            "goes on."
        ),
    ] = None,
    workers: MeasuringWorkers = "auto",
    engine: EngineName = None,
    ray_address: RayAddress = None,
) -> None:
    """Find the parser, size and overlap to take for your documents, with reasons.

    Parsers are tried at several sizes, the best size of each with overlap as well, and at 200
    tokens also read by sentences. With an embedding other than the lexical one the best is searched
    by meaning and by words alone, too, unless --mode says how. All are asked the same questions and
    read the same number of tokens; those that fall far behind are asked no more. What is chosen is
    the cheapest to keep that is as good as the best, with intervals that hold for all candidates at
    once, and what would have to be true to choose another.

    Where the questions cannot tell candidates apart it says so, and how many would be needed.
    Drafts choose nothing: without a question that somebody accepted the answer is what `ingest` and
    `ask` take by themselves, and no other candidate is tried.
    """
    from rag_nodes.evaluation.recommendation import recommend as run

    selection = select(parser or (), changes or ())
    plan = _plan(cli, budget, sizes, seed)
    shares = tuple(one / 100 for one in numbers("--overlaps", overlaps))
    files = _Files(html, output, export, save)
    files.check()
    chosen = executor_of(workers, engine, ray_address)
    with cli.workspace(cli.settings()) as workspace:
        dataset = asked_of(cli, workspace, questions, paths or [], drafts, seed)
        models = workspace.models(answers=False)
        tried = selection.build(models) if parser else {}
        say_uncached(cli, cache, tried.values(), models)
        with (
            resumable(cli, "candidates", cache),
            shown_progress(cli, [EVALUATION_BAR], evaluation_words) as progress,
        ):
            found = run(
                dataset.narrowed() if own_document else dataset,
                tried or None,
                plan=plan,
                overlaps=shares,
                modes=() if cli.search["mode"] or models.sentence_model is None else MODES,
                vectors=vector or (),
                models=models,
                cache=cache,
                progress=progress,
                executor=chosen,
            )
    if cli.as_json:
        cli.emit(found.as_dict())
    else:
        cli.show(*recommendation_view(found))
    for written in files.write(found, models):
        cli.note(f"Wrote {written}")
    raise typer.Exit(_code(cli, found))


class _Files(NamedTuple):
    """What is to be written, where anything is."""

    html: Path | None
    output: Path | None
    export: Path | None
    save: Path | None

    def check(self) -> None:
        """Refuse names before hours are spent on what should be written there.

        Raises:
            ConfigurationError: one cannot be written, or names no preset file.
        """
        for path in self:
            if path:
                check_writable(path)
        if self.save:
            name_of_preset(self.save)

    def write(self, found: "Recommendation", models: "Models") -> Iterator[Path]:
        """Each file when it is written, what may be refused last.

        Raises:
            ConfigurationError: what is chosen can be in no preset file or script.
        """
        from rag_nodes.evaluation.page import recommendation_page
        from rag_nodes.parsers import save_preset
        from rag_nodes.workspace.script import script_for

        if self.html:
            write_text(self.html, recommendation_page(found))
            yield self.html
        if self.output:
            write_text(self.output, found.to_json())
            yield self.output
        if self.export:
            options = replace(found.options, budget=found.settings["budget"])
            name, file = self.export.stem, self.export.name
            write_text(self.export, script_for(name, found.parser, models, options, file))
            yield self.export
        if self.save:
            save_preset(self.save, found.preset(name_of_preset(self.save)))
            yield self.save


def _plan(cli: Invocation, budget: str, sizes: str, seed: int) -> "EvaluationPlan":
    from rag_nodes.evaluation.recommendation import PLAN

    budgets, tried = numbers("--budget", budget), numbers("--sizes", sizes)
    if not budgets or not tried:
        raise ConfigurationError("--budget and --sizes: name at least one number of tokens above 0")
    return replace(PLAN, budgets=budgets, sizes=tried, options=query_options(cli), seed=seed)


def _code(cli: Invocation, found: "Recommendation") -> ExitCode:
    failed = [one for one in found.trials if one.state == "failed"]
    for one in failed:
        cli.complain(f"{one.name}: {one_line(one.words)}")
    return ExitCode.PARTIAL if failed or found.dataset["unplaced"] else ExitCode.DONE
