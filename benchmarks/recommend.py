"""Is what `recommend` chooses by drafts alone as good as the best there is, by people's questions?

Per labelled set, questions are drafted of its documents and a sweep chooses by them; then people's
questions say what that choice finds, and what the best of our presets and sizes finds, which
`quality.py` has measured and kept.

    python benchmarks/recommend.py --data FOLDER --pages PAGES.json
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from labelled_sets import LANGUAGES, OWN_DOCUMENT, SETS, labelled_set, options_of
from measuring import markdown_table
from results.kept import Kept

from rag_nodes.evaluation.columns import Searched
from rag_nodes.evaluation.drafts import draft_questions
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.recommendation import PLAN, recommend
from rag_nodes.evaluation.run import evaluate
from rag_nodes.parsers import get_parser

if TYPE_CHECKING:
    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.recommendation import Recommendation

BUDGET, SHORT = 1000, 200
"""Tokens that are read; of documents of XQuAD, which have about 1,000, the smaller number."""
OURS = ("recursive", "heading", "preset")
"""How the names of our own presets and sizes begin among the results that are kept."""


class Found(NamedTuple):
    """What came of one choice.

    Attributes:
        choice: the sweep by which was chosen.
        recall: of the chosen one, by people's questions.
        best: name of the preset and size that these find best.
        most: recall of that.
    """

    choice: Recommendation
    recall: float
    best: str
    most: float


def drafts_of(dataset: Dataset, documents: int, count: int) -> Dataset:
    """Drafts about some documents of a set, each asked where its set wants it.

    Documents are a fair sample only where each question searches its own.
    """
    given = dataset.documents
    if dataset.name in OWN_DOCUMENT:
        order = sorted(
            given, key=lambda one: hashlib.sha256(dataset.names[one.id_].encode()).digest()
        )
        given = tuple(order[:documents])
    made = replace(draft_questions(given, count=count), name=dataset.name)
    return made.narrowed() if dataset.name in OWN_DOCUMENT else made


def judged(choice: Recommendation, people: Dataset) -> Found:
    """What was chosen, by people's questions."""
    budget = choice.settings["budget"]
    kept = Kept.load(people.name).systems
    plain = {name: _mean(one["recall"][str(budget)]) for name, one in kept["plain"].items()}
    ours = {name: recall for name, recall in plain.items() if name.startswith(OURS)}
    best = max(ours, key=lambda name: ours[name])
    if choice.chosen == choice.settings["standard"]:
        recall = _mean(kept["ladder"]["ladder"]["recall"][str(budget)])
    else:
        plan = EvaluationPlan(budgets=(budget,), ks=(), sizes=(), target=None, explain=False)
        column = Searched(choice.parser, choice.options)
        recall = evaluate(people, {"chosen": column}, plan=plan).row("chosen").means[plan.main]
    return Found(choice, recall, best, ours[best])


def row(name: str, found: Found) -> list[str]:
    """A row of the table."""
    choice = found.choice
    states = [one.state for one in choice.trials]
    asked = sum(one.asked for one in choice.trials)
    everything = len(choice.trials) * choice.dataset["questions"]
    return [
        name,
        f"{choice.dataset['documents']}",
        f"{choice.dataset['questions']}",
        f"{len(states)}",
        f"{states.count('behind') + states.count('stopped')}",
        f"{100 * asked / everything:.0f} %",
        f"`{choice.chosen}`",
        "yes" if choice.told else "no",
        f"{100 * found.recall:.1f}",
        f"{100 * found.most:.1f} (`{found.best}`)",
        f"{100 * (found.recall - found.most):+.1f}",
    ]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def main() -> None:
    """Print a row per set as it is done, and the table."""
    parser = options_of(__doc__, SETS)
    parser.add_argument("--parsers", nargs="+", default=["recursive", "heading", "token-overlap"])
    parser.add_argument("--documents", type=int, default=20, help="of sets with one per question")
    parser.add_argument("--drafts", type=int, default=60)
    given = parser.parse_args()
    rows = []
    for name in given.sets:
        people = labelled_set(name, given.data, given.pages)
        budget = SHORT if name in LANGUAGES else BUDGET
        plan = replace(PLAN, budgets=(budget,), options=replace(PLAN.options, mode="sparse"))
        drafts = drafts_of(people, given.documents, given.drafts)
        parsers = {one: get_parser(one) for one in given.parsers}
        found = judged(recommend(drafts, parsers, plan=plan), people)
        rows.append(row(name, found))
        print("|", " | ".join(rows[-1]), "|", flush=True)
        print(*found.choice.verdict, sep="\n", flush=True)
    header = [
        "set", "documents", "drafts", "candidates", "behind", "asked", "chosen", "told", "finds",
        "best preset and size", "difference",
    ]  # fmt: skip
    print(markdown_table(header, rows))


if __name__ == "__main__":
    main()
