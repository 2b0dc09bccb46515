"""Is what `recommend` chooses by drafts as good as the best there is, by people's questions?

Per labelled set: drafts are made of its documents and a sweep chooses by them alone; then people's
questions say what that choice finds, and what the best candidate of the same sweep finds. A second
table chooses by people's questions about one half of the documents, and asks those about the other.

    python benchmarks/recommend.py --data FOLDER --pages PAGES.json
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from labelled_sets import LANGUAGES, OWN_DOCUMENT, SETS, labelled_set, options_of
from measuring import markdown_table

from rag_nodes.evaluation.columns import Searched
from rag_nodes.evaluation.drafts import draft_questions
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.recommendation import PLAN, recommend
from rag_nodes.evaluation.run import evaluate

if TYPE_CHECKING:
    from pathlib import Path

    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.recommendation import Recommendation
    from rag_nodes.query.options import SearchMode

BUDGETS, SHORT = (500, 1000, 2000), (100, 200, 400)
"""Tokens that are read; of documents of XQuAD, which have about 1,000, the smaller numbers."""
DRAFTS = 100
"""Questions that are drafted of each set."""


class Found(NamedTuple):
    """What came of one choice.

    Attributes:
        choice: the sweep by which was chosen.
        recall: of the chosen one, by the questions that judge.
        leader: name of the candidate that these find best.
        best: recall of that.
    """

    choice: Recommendation
    recall: float
    leader: str
    best: float


def plan_for(name: str, mode: SearchMode) -> EvaluationPlan:
    """The budgets of a set, and how is searched."""
    options = replace(PLAN.options, mode=mode)
    return replace(PLAN, budgets=SHORT if name in LANGUAGES else BUDGETS, options=options)


def drafts_of(dataset: Dataset) -> Dataset:
    """Drafts about the documents of a set, each asked where its set wants it."""
    made = replace(draft_questions(dataset.documents, count=DRAFTS), name=dataset.name)
    return made.narrowed() if dataset.name in OWN_DOCUMENT else made


def halves(dataset: Dataset) -> tuple[Dataset, Dataset]:
    """The questions about each half of the documents, by a hash of their names."""
    parts: tuple[list, list] = ([], [])
    for question in dataset.questions:
        digest = hashlib.sha256(dataset.names[question.document].encode()).digest()
        parts[digest[0] % 2].append(question)
    first, second = (replace(dataset, questions=tuple(part)) for part in parts)
    return first, second


def judged(choice: Recommendation, truth: Recommendation, dataset: Dataset) -> Found:
    """What is chosen by one sweep, by the questions of another."""
    trials = {one.name: one for one in truth.trials if one.state in ("level", "behind")}
    best = trials[truth.leader]
    measure = truth.measure
    if choice.chosen in trials:
        recall = trials[choice.chosen].means[measure]
    else:  # it was stopped early, or has an overlap that was not tried
        plan = EvaluationPlan(
            budgets=(choice.settings["budget"],), ks=(), sizes=(), target=None, explain=False
        )
        column = Searched(choice.parser, choice.options)
        recall = evaluate(dataset, {"chosen": column}, plan=plan).row("chosen").means[measure]
    return Found(choice, recall, best.name, best.means[measure])


def row(name: str, found: Found) -> list[str]:
    """A row of the table."""
    choice = found.choice
    everything = len(choice.trials) * choice.dataset["questions"]
    asked = sum(one.asked for one in choice.trials)
    return [
        name,
        f"{choice.dataset['questions']}",
        f"`{choice.chosen}`",
        "yes" if choice.told else "no",
        f"{100 * found.recall:.1f}",
        f"{100 * found.best:.1f} (`{found.leader}`)",
        f"{100 * (found.recall - found.best):+.1f}",
        f"{100 * asked / everything:.0f} %",
    ]


def main() -> None:
    """Print both tables."""
    parser = options_of(__doc__, SETS)
    parser.add_argument("--mode", default="sparse", choices=("sparse", "hybrid"))
    given = parser.parse_args()
    cache: Path | None = None
    by_drafts, by_half = [], []
    for name in given.sets:
        people = labelled_set(name, given.data, given.pages)
        plan = plan_for(name, given.mode)
        truth = recommend(people, plan=plan, cache=cache)
        found = judged(recommend(drafts_of(people), plan=plan), truth, people)
        by_drafts.append(row(name, found))
        print("|", " | ".join(by_drafts[-1]), "|", flush=True)
        print("  drafts:", *found.choice.verdict, flush=True)
        print("  people:", *truth.verdict, flush=True)
        if len({one.document for one in people.questions}) > 1:
            first, second = halves(people)
            choice, other = (recommend(one, plan=plan) for one in (first, second))
            by_half.append(row(name, judged(choice, other, second)))
            print("  half: |", " | ".join(by_half[-1]), "|", flush=True)
    header = ["set", "questions", "chosen", "told", "finds", "best", "difference", "asked"]
    print(markdown_table(header, by_drafts))
    print(markdown_table(header, by_half))


if __name__ == "__main__":
    main()
