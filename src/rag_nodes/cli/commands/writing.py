"""The half of `rag-nodes questions draft` that asks an LLM, whose answers are kept."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.cli.invocation import Invocation
from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from llama_index.core.llms import LLM
    from llama_index.core.schema import Document

    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.drafts.probes import AnswerLength
    from rag_nodes.settings import Settings

_ANSWER_TOKENS = 600
"""Of an answer with a quote and a question."""


@dataclass(frozen=True, slots=True)
class Writing:
    """What is asked for on the command line.

    Attributes:
        output: file for the drafts; answers are kept beside it until they are written.
        count: questions at most.
        answers: how long the answers are to be.
        seed: other passages for another number.
        concurrency: passages at the same time.
        requests_per_minute: at most; None for no limit.
        resume: use the answers of an interrupted run.
    """

    output: Path
    count: int
    answers: "AnswerLength"
    seed: int
    concurrency: int
    requests_per_minute: int | None
    resume: bool


def written(
    cli: Invocation, settings: "Settings", documents: "list[Document]", asked: Writing
) -> "Dataset":
    """Drafts of the model; why others were refused is said."""
    from rag_nodes.evaluation.drafts import write_questions
    from rag_nodes.transforms import TextJournal

    kept = asked.output.with_name(f"{asked.output.name}.answers.sqlite")
    if not asked.resume:
        kept.unlink(missing_ok=True)
    with cli.activity("Asking the model for questions"):
        dataset = write_questions(
            documents,
            _llm(settings, asked.requests_per_minute),
            count=asked.count,
            answers=asked.answers,
            seed=asked.seed,
            concurrency=asked.concurrency,
            journal=TextJournal(kept),
        )
    kept.unlink()
    for reason, times in Counter(one.reason for one in dataset.unplaced).most_common():
        cli.note(f"refused {times}: {reason}")
    return dataset


def _llm(settings: "Settings", requests_per_minute: int | None = None) -> "LLM":
    from rag_nodes.models import choose_models
    from rag_nodes.models.pacing import RequestWindow

    own = {"embedding": "lexical", "max_output_tokens": _ANSWER_TOKENS, "temperature": 0.0}
    llm = choose_models(settings.model_copy(update=own)).llm
    if llm is None:
        raise ConfigurationError("no LLM is configured; name one with --llm")
    if requests_per_minute:
        llm.rate_limiter = RequestWindow(requests_per_minute)
    return llm
