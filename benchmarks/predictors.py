"""Which label-free measures of chunks tell where answers will be found?

Presets at several sizes are judged without labels, and then asked labelled questions; Spearman's
rank correlation says whether both agree about the order. A measure that only follows the size of
the chunks is of no use beyond it, so that of the mean size stands beside, and a second figure per
measure takes the ranks among presets of one size only.

    python benchmarks/predictors.py --data FOLDER --pages PAGES.json
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from labelled_sets import labelled_set, options_of
from measuring import markdown_table, save

from rag_nodes.evaluation import JudgedChunk, Tally, compare_sentences, judge, limits_of, text_facts
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.label_free import total
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.run import evaluate
from rag_nodes.evaluation.sizes import resized
from rag_nodes.evaluation.text_facts import TextFacts
from rag_nodes.parsers import SpanNodeParser, get_parser
from rag_nodes.query import QueryOptions
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import count_tokens

PRESETS = ("recursive", "fixed", "heading", "token-overlap", "sentence", "semantic")
SIZES = (100, 200, 400, 800)
BUDGET = 1000
MEASURES = ("boundaries", "intact", "overlap", "cohesion", "parting", "contrast", "compliance")
"""Properties of a tally, and the mean size as what they have to beat."""
FOUR = ("headed", "evidence_inference", "qmsum", "chroma")


def measures_of(
    dataset: Dataset, facts: dict[str, TextFacts], parser: SpanNodeParser
) -> list[float]:
    """The mean size and `MEASURES`, of a parser over all documents; not a number where unknown."""
    tallies = []
    for document in dataset.documents:
        chunks = [_chunk(node, document.text) for node in parser([document])]
        tallies.append(judge(document.id_, facts[document.id_], chunks, limits_of(parser)))
    tally: Tally = total(tallies)
    known = [getattr(tally, name) for name in MEASURES]
    return [
        tally.tokens / max(1, tally.chunks),
        *(float("nan") if one is None else one for one in known),
    ]


def _chunk(node: object, text: str) -> JudgedChunk:
    span = Span(node.start_char_idx, node.end_char_idx)  # type: ignore[attr-defined]
    tokens = count_tokens(span.of(text))
    return JudgedChunk(span, tokens, tokens)


def correlation(left: Sequence[float], right: Sequence[float]) -> float:
    """Spearman's, ties sharing their ranks; not a number where one side is all equal."""
    pairs = [(a, b) for a, b in zip(left, right, strict=True) if not np.isnan(a)]
    if len(pairs) < 3:  # noqa: PLR2004 -- two points are always in order
        return float("nan")
    first, second = (_ranks(np.array(one)) for one in zip(*pairs, strict=True))
    if not first.std() or not second.std():
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def within_sizes(left: Sequence[float], right: Sequence[float], sizes: Sequence[int]) -> float:
    """The mean of the correlations among presets of one nominal size."""
    found = []
    for size in dict.fromkeys(sizes):
        at = [number for number, one in enumerate(sizes) if one == size]
        found.append(correlation([left[n] for n in at], [right[n] for n in at]))
    known = [one for one in found if not np.isnan(one)]
    return float(np.mean(known)) if known else float("nan")


def of_set(dataset: Dataset, cache: Path | None) -> dict[str, list[float]]:
    """Per measure both correlations, and the raw numbers of all configurations."""
    plan = EvaluationPlan(
        budgets=(BUDGET,), sizes=SIZES, target=None, options=QueryOptions(mode="sparse"), draws=100
    )
    parsers = {name: get_parser(name) for name in PRESETS}
    report = evaluate(dataset, dict(parsers), plan=plan, cache=cache)
    facts = {one.id_: compare_sentences(text_facts(one.text)) for one in dataset.documents}
    points, recalls, sizes = [], [], []
    for row in report.of_role("size"):
        if row.error or row.nominal is None:
            continue
        points.append(measures_of(dataset, facts, resized(parsers[row.column], row.nominal)))
        recalls.append(row.means[report.measure])
        sizes.append(row.nominal)
    found = {}
    for number, name in enumerate(("mean size", *MEASURES)):
        values = [one[number] for one in points]
        found[name] = [correlation(values, recalls), within_sizes(values, recalls, sizes)]
    return found


def main() -> None:
    """Print one table: measures by sets, "all sizes / at one size"."""
    parser = options_of(__doc__, FOUR)
    parser.add_argument("--cache", type=Path, help="folder that keeps paid vectors")
    options = parser.parse_args()
    found = {}
    for name in options.sets:
        found[name] = of_set(labelled_set(name, options.data, options.pages), options.cache)
        print(name, found[name], flush=True)
    save("predictors", found)
    rows = [
        [name, *(_cell(found[one][name]) for one in options.sets)]
        for name in ("mean size", *MEASURES)
    ]
    print(markdown_table(["measure", *options.sets], rows))


def _cell(both: Sequence[float]) -> str:
    return " / ".join("-" if np.isnan(one) else f"{one:+.2f}" for one in both)


if __name__ == "__main__":
    main()
