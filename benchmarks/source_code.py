"""Recall of places in source code: our presets, and splitters of others named by import path.

Questions are in `questions/stdlib-code.json`, about modules of the standard library of the Python
3.11 that runs this. LlamaIndex's `CodeSplitter` needs tree-sitter-language-pack before 1.0, which
brings its grammars; later ones download them:

    python benchmarks/source_code.py --part test
    python benchmarks/source_code.py --part test --parser module:Class

Each further parser is compared with the others by a paired bootstrap of the questions.
"""

from __future__ import annotations

import argparse
import json
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from measuring import markdown_table

from rag_nodes import QueryOptions, read
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.run import evaluate
from rag_nodes.parsers.foreign import parser_at
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = dict[str, NDArray[np.float64]]

QUESTIONS = Path(__file__).parent / "questions" / "stdlib-code.json"
LIBRARY = Path(sysconfig.get_paths()["stdlib"])
BUDGETS = (500, 1000, 2000)
CODE_SPLITTER = "llama_index.core.node_parser:CodeSplitter(language='python')"
_SAMPLES = 10_000


def labelled(part: str) -> Dataset:
    """All modules, and the questions of a part; stop at an answer that is not there."""
    documents, questions = [], []
    for entry in json.loads(QUESTIONS.read_text(encoding="utf-8"))["documents"]:
        document = read(LIBRARY / entry["file"])
        documents.append(document)
        for asked in entry["questions"]:
            text, name = document.text, f"{entry['file']}: {asked['question']}"
            after = text.find(asked.get("after", ""))
            start = text.find(asked["from"], after)
            end = text.find(asked["to"], start)
            if min(after, start, end) < 0:
                raise SystemExit(f"{name} The answer is not there; run this with Python 3.11.")
            span = Span(start, end + len(asked["to"]))
            if part in ("all", entry["part"]):
                gold = ((Passage(document.id_, span),),)
                questions.append(Question(id=name, text=asked["question"], gold=gold))
    return Dataset(QUESTIONS.stem, tuple(documents), tuple(questions))


def measured(dataset: Dataset, columns: dict[str, object], granularity: str) -> Values:
    """Recall of each question by column and budget, in percent."""
    options = QueryOptions(mode="sparse", granularity=granularity)  # type: ignore[arg-type]
    plan = EvaluationPlan(budgets=BUDGETS, sizes=(), target=None, options=options)
    rows = [row for row in evaluate(dataset, columns, plan=plan).of_role("own") if not row.error]
    return {
        f"{row.column} @{budget}": 100
        * np.array([outcome.scores[f"recall@{budget}"] for outcome in row.outcomes])
        for row in rows
        for budget in BUDGETS
    }


def main() -> None:
    """Print recall by column and budget, then the differences of further parsers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=["development", "test", "all"], default="all")
    parser.add_argument("--parser", action="append", default=[], help="import path, repeatable")
    options = parser.parse_args()
    dataset = labelled(options.part)
    names = ["retrieval", "recursive"]
    columns: dict[str, object] = {name: name for name in names}
    columns |= {path: parser_at(path) for path in (CODE_SPLITTER, *options.parser)}
    generator = np.random.default_rng(0)
    samples = generator.integers(0, len(dataset.questions), (_SAMPLES, len(dataset.questions)))
    for granularity in ("sentences", "chunks"):
        values = measured(dataset, columns, granularity)
        means = [[name, *(f"{values[f'{name} @{budget}'].mean():.1f}" for budget in BUDGETS)]
                 for name in columns]  # fmt: skip
        print(f"\n{len(dataset.questions)} questions, read by {granularity}\n")
        print(markdown_table(["recall, %", *(f"{budget} tokens" for budget in BUDGETS)], means))
        for own in options.parser:
            for other in (name for name in columns if name != own):
                for budget in BUDGETS:
                    gaps = values[f"{own} @{budget}"] - values[f"{other} @{budget}"]
                    low, high = np.quantile(gaps[samples].mean(axis=1), (0.025, 0.975))
                    print(
                        f"{own} to {other} @{budget}: {gaps.mean():+.1f} ({low:.1f} to {high:.1f})"
                    )


if __name__ == "__main__":
    main()
