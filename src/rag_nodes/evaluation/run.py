"""`evaluate`: one dataset, any columns, one honest report."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal

from rag_nodes.evaluation.assembly import assemble
from rag_nodes.evaluation.cache import EvaluationCache, uncached
from rag_nodes.evaluation.columns import Searched, variants_of
from rag_nodes.evaluation.measurement import Measurement
from rag_nodes.evaluation.plan import EvaluationPlan, Step
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.sweep import kept_in, swept_by, workers_for
from rag_nodes.models import settled
from rag_nodes.store import open_store
from rag_nodes.transforms import TextJournal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from llama_index.core.base.embeddings.base import BaseEmbedding

    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.judging.stage import Judging
    from rag_nodes.executors import Executor
    from rag_nodes.models import Models
    from rag_nodes.pipeline.build import Parse
    from rag_nodes.store import Store

logger = logging.getLogger(__name__)


def evaluate(  # noqa: PLR0913 -- options of one call, all but two with defaults
    dataset: Dataset,
    columns: Mapping[str, object],
    *,
    plan: EvaluationPlan | None = None,
    models: Models | None = None,
    embed_model: BaseEmbedding | str | None = None,
    store: Store | None = None,
    cache: Path | None = None,
    progress: Callable[[Step], None] | None = None,
    parse: Parse | None = None,
    judge: Judging | None = None,
    executor: Executor | Literal["auto"] | None = None,
) -> EvaluationReport:
    """Find out which way of cutting finds the answers, by how much, and whether it is the size.

    Every row reads the same number of tokens, filled exactly; every row sees the same questions;
    columns are compared at their own options and at an equal mean size.

    Drafts that nobody has accepted are left out. Where all questions are such drafts, they are
    measured with, but no column is compared with another.

    Args:
        dataset: documents and labelled questions.
        columns: parsers by name: ours, and splitters of LlamaIndex, LangChain, chonkie or your own;
            or a `StoredCollection`.
        plan: what is measured; None for the defaults.
        models: embeds texts and questions; None for `embed_model`.
        embed_model: any embedding model of LlamaIndex; None for that of LlamaIndex's `Settings`
            where it was set, else offline.
        store: where chunks are while they are measured in this process; None for memory.
            Collections are removed.
        cache: folder that keeps vectors of a paid model and finished rows, so that a run that was
            ended goes on; None to keep nothing.
        progress: hears of every step.
        parse: cuts a document in this process, such as by one that can be ended; None to have the
            parser do it.
        judge: whether answers from what the columns read are good; None to ask no LLM.
        executor: measures rows in other processes, such as `Pool(4)` of `rag_nodes.executors`;
            "auto" where that pays; None for this one alone. The report is the same. What other
            processes cannot make, such as a splitter that is an object, is measured in this one.

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
    plan = plan or EvaluationPlan()
    chosen = settled(models, embed_model)
    for said in uncached(columns.values(), chosen) if cache else ():
        logger.warning(said)
    count = len(columns) * (1 + len(plan.sizes) + bool(plan.target)) + 1
    if executor == "auto":
        executor = workers_for(dataset, count, chosen)
    searched = (one.options.vector for one in columns.values() if isinstance(one, Searched))
    vectors = {plan.options.vector, *searched}
    with ExitStack() as opened:
        paid = opened.enter_context(kept_in(cache, chosen, executor, vectors))
        kept = opened.enter_context(EvaluationCache(paid[0]))
        written = TextJournal(paid[1]) if paid[1] else None
        own = store or opened.enter_context(open_store())
        known = kept.embedding(chosen)
        sweep = opened.enter_context(
            swept_by(executor, dataset, plan, chosen, columns.values(), kept=paid)
        )
        run = Measurement(
            dataset, plan, known, cache=kept, progress=progress, parse=parse, sweep=sweep,
            written=written,
        )  # fmt: skip
        stage = run.judging(judge) if judge else None
        variants, left_out = variants_of(
            columns, sizes=plan.sizes, target=plan.target, sized=run.sized
        )
        rows = list(run.rows(variants, own))
        judgement = stage.judgement(run.read) if stage else None
    return assemble(dataset, plan, known, rows, left_out, judgement)
