"""`evaluate`: one dataset, any columns, one report; `recommend`: the same over many sizes."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.several import several
from rag_nodes.evaluation.assembly import assemble
from rag_nodes.evaluation.columns import Searched, Variant, placed_in, typed, variants_of
from rag_nodes.evaluation.engines import StoredCollection, finds
from rag_nodes.evaluation.measuring import Recipe
from rag_nodes.evaluation.plan import EvaluationPlan, Step
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.rows import kept_in, rows_of, workers_for
from rag_nodes.evaluation.sizes import without_overlap
from rag_nodes.evaluation.tables import ReportDecision
from rag_nodes.evaluation.wording import SELECTING
from rag_nodes.models import settled
from rag_nodes.parsers import SpanNodeParser, as_parser, get_parser
from rag_nodes.parsers.loading import data_of
from rag_nodes.parsers.presets import DEFAULT_PARSER, SWEPT
from rag_nodes.query import QueryOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from llama_index.core.base.embeddings.base import BaseEmbedding

    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.judging import Judging
    from rag_nodes.models import Models
    from rag_nodes.models.executors import Executor

_SIZED = "recursive"
"""The preset that the one which stands is at other sizes."""
_QUERY = (
    "budget", "top_k", "granularity", "mode", "fusion", "similarity_cutoff", "expand"
)  # fmt: skip
"""Options of a search that a decision names."""


@checks_keywords
def evaluate(  # noqa: PLR0913 -- options of one call, all but two with defaults
    dataset: Dataset,
    columns: Mapping[str, object],
    *,
    plan: EvaluationPlan | None = None,
    models: Models | None = None,
    embed_model: BaseEmbedding | str | None = None,
    cache: str | Path | None = None,
    progress: Callable[[Step], None] | None = None,
    judge: Judging | None = None,
    executor: Executor | Literal["auto"] | None = None,
    in_use: str | Collection[str] = (),
) -> EvaluationReport:
    """Find out which strategy finds the answers, by how much, and whether it is the size.

    Every row reads the same number of tokens, the last passage split at one; every row sees the
    same questions; columns are compared at their own options and at an equal mean size. Keyword
    search alone reads less where too few chunks share a word with the question; the report says how
    much.

    Drafts that nobody has accepted are left out. Where all questions are such drafts, they are
    measured with, but no column is compared with another.

    Args:
        dataset: documents and labelled questions.
        columns: by name, as `rag_nodes.Comparison` takes them: parsers of ours, also by the name of
            a preset, and splitters of LlamaIndex, LangChain, chonkie or your own; retrievers, query
            engines, indexes and vector stores of LlamaIndex, and `StoredCollection`s, as they
            stand. What these find is located in the documents; what has no place is read, and
            scores nothing. A retriever or engine that finds less than the budget has no more.
        plan: what is measured; None for the defaults.
        models: embeds texts and questions; None for `embed_model`.
        embed_model: any embedding model of LlamaIndex; None for that of LlamaIndex's `Settings`
            where it was set, else offline.
        cache: folder that keeps what a paid model made, so that a run that was ended pays for
            nothing again; None to keep nothing.
        progress: hears of every step.
        judge: whether answers from what the columns read are good; None to ask no LLM.
        executor: measures rows in other processes, such as `Pool(4)` of
            `rag_nodes.models.executors`; "auto" where that pays; None for this one alone. The
            report is the same. What other processes cannot make, such as a splitter that is an
            object, is measured in this one.
        in_use: names of the columns that you use now, which the decision may tell you to keep.
            Retrievers, engines, indexes and collections always count as yours.

    Returns:
        The report; a column that failed is a row with its error, and so is a judge.

    Raises:
        DatasetError: there is nothing to ask.
        ConfigurationError: there is nothing to compare, a column is no splitter, or answers are to
            be judged without an LLM, or with a mock.
        CancelledError: see `interruptible`.
        EngineError: processes cannot be started, or cannot make what the rows share.
        ModelError: the questions could not be embedded.
    """
    dataset.check_asked()
    dataset = dataset.decisive()
    given = plan = plan or EvaluationPlan()
    if dataset.probed:
        plan = plan.by_probes(dataset.probed)
    chosen = settled(models, embed_model)
    variants, left_out = variants_of(placed_in(dataset.documents, columns), plan)
    if executor == "auto":
        executor = workers_for(dataset, len(variants), chosen)
    folder = None if cache is None else Path(cache)
    with ExitStack() as opened:
        kept = opened.enter_context(kept_in(folder, chosen, executor))
        if executor:
            opened.callback(executor.close)
        # What the searches hold, such as a reranker, is in the variants that need it.
        recipe = Recipe(dataset, replace(plan, searches={}), chosen, kept)
        opened.callback(recipe.close)
        recipe.prepare()
        stage = None
        if judge:
            from rag_nodes.evaluation.judging import Stage

            stage = Stage(judge, recipe, progress)
            recipe.judged = frozenset(question.id for question in stage.questions)
        measured = rows_of(variants, recipe, executor, progress)
        judgement = stage.judgement(measured.read) if stage else None
    by_name = {variant.name: variant for variant in variants}
    return assemble(
        dataset,
        plan,
        chosen,
        measured.rows,
        [*left_out, *measured.left_out],
        judgement,
        lambda name: _use_of(by_name[name], given),
        [
            *several(in_use),
            *(variant.name for variant in variants if isinstance(variant.parser, StoredCollection)),
        ],
    )


@partial(checks_keywords, rest="evaluate")
def recommend(
    dataset: Dataset,
    parsers: Mapping[str, object] | None = None,
    *,
    plan: EvaluationPlan | None = None,
    **options: Any,
) -> EvaluationReport:
    """Find the parser and size to take for some documents, or say that the data cannot tell.

    An `evaluate` whose columns are each parser at each size of the plan without overlap,
    LlamaIndex's splitter with its defaults, and the preset `retrieval` as it is ingested and asked
    by default, by sentences. The name of that row says so, as all others read whole chunks.

    Args:
        dataset: documents and questions; or keywords of passages, see `Dataset.answers`.
        parsers: by name: ours, and splitters of other packages; None for `SWEPT`. What finds as it
            stands, see `evaluate`, and `Searched` columns are measured as they are.
        plan: budgets, sizes, and how is searched; None for the defaults. Where its options name a
            granularity all rows are read so.
        **options: as for `evaluate`.

    Raises:
        ConfigurationError: a parser takes the name of the preset `retrieval`.
        RagNodesError: as for `evaluate`.
    """
    plan = replace(plan or EvaluationPlan(), target=None, chosen_from="sizes")
    standard = _standard(plan)
    read = plan.options.granularity or "chunks"
    selecting = SELECTING if standard.options.granularity != read else ""
    first = {f"{DEFAULT_PARSER}{selecting}": standard}
    plan = replace(plan, options=replace(plan.options, granularity=read))
    given = parsers or {name: get_parser(name) for name in SWEPT}
    sized = {_sized(name, parser, given): _without_overlap(parser)
             for name, parser in given.items()}  # fmt: skip
    return evaluate(dataset, {**first, **sized}, plan=plan, **options)


def standing(plan: EvaluationPlan | None = None) -> ReportDecision:
    """Recommendation without a measurement: the preset `retrieval`, read as in `recommend`."""
    plan = plan or EvaluationPlan()
    searched = _standard(plan)
    variant = Variant(DEFAULT_PARSER, "own", as_parser(searched.parser), options=searched.options)
    words = (
        "Nothing was measured on these documents yet. Until then, take the default: "
        f"{DEFAULT_PARSER} (recursive, 200 tokens, read by {searched.options.granularity})."
    )
    use = _use_of(variant, plan)
    return ReportDecision(
        DEFAULT_PARSER, None, "not shown", words, certainty="Not tried yet.", **use
    )


def _standard(plan: EvaluationPlan) -> Searched:
    """The preset that stands, as it is ingested and asked by default: by sentences."""
    read = plan.options.granularity
    usual = replace(plan.options, top_k=None, budget=plan.budget, granularity=None).reads_sentences
    options = replace(
        plan.options, granularity=read or ("sentences" if usual else "chunks"),
        top_k=None, budget=plan.budget,
    )  # fmt: skip
    return Searched(get_parser(DEFAULT_PARSER), options, at_sizes=False)


def _without_overlap(column: object) -> object:
    """A parser whose chunks share nothing; what finds or is searched as it stands stays so."""
    is_told = isinstance(column, Searched) or finds(column)
    return column if is_told else without_overlap(as_parser(column))


def _sized(name: str, parser: object, given: Mapping[str, object]) -> str:
    """The name of a column at other sizes: that of the preset which stands is taken."""
    if name != DEFAULT_PARSER:
        return name
    both = {DEFAULT_PARSER: parser, _SIZED: given.get(_SIZED, get_parser(_SIZED))}
    # The preset called so is, at each size, the same.
    if all(
        as_parser(parser).fingerprint == get_parser(key).fingerprint for key, parser in both.items()
    ):
        return _SIZED
    raise ConfigurationError(
        f"'{DEFAULT_PARSER}' is the name of the default preset, which always has a row; choose "
        f"another name for that column, or leave it out"
    )


def _use_of(variant: Variant, plan: EvaluationPlan) -> dict[str, Any]:
    """The parser of a row and how it was searched, as a decision names them; {} if it cannot."""
    parser = variant.parser
    if not isinstance(parser, SpanNodeParser):
        return {}
    options, usual = variant.options or plan.options, QueryOptions()
    query = {key: getattr(options, key) for key in _QUERY}
    changed = {
        key: value
        for key, value in query.items()
        if value is not None and value != getattr(usual, key)
    }
    preset = typed(variant)
    data = {} if options.rerank else data_of(parser, preset)
    return {
        "preset": preset,
        "parser": json.loads(json.dumps(data)),
        "query": {**changed, "budget": plan.budget},
    }
