"""Recall of answers in papers whose reference lists repeat the question's words, and their rank.

Questions are in `questions/papers-with-references.json`, the papers in a folder of yours:

    python benchmarks/reference_lists.py --papers FOLDER

BM25 search, sentences. Compare two states of the source by running it with each.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean

from measuring import markdown_table

from rag_nodes import Comparison, QueryOptions, read
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.scoring import best_recall
from rag_nodes.text.spans import Span

QUESTIONS = Path(__file__).parent / "questions" / "papers-with-references.json"
BUDGETS = (100, 200, 500, 1000)
_REFERENCES = "References"


def main() -> None:
    """Print recall at each budget, and how much of the text that is read is of reference lists."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", type=Path, required=True, help="folder with the PDF files")
    options = parser.parse_args()
    recall: dict[int, list[float]] = defaultdict(list)
    listed: dict[int, list[float]] = defaultdict(list)
    for paper in json.loads(QUESTIONS.read_text(encoding="utf-8"))["documents"]:
        document = read(str(options.papers / paper["file"]))
        for budget in BUDGETS:
            settings = QueryOptions(
                budget=budget, mode="sparse", granularity="sentences", step_factor=1.0
            )
            columns = {"retrieval": "retrieval"}
            with Comparison(columns, documents=document, options=settings) as comparison:
                for asked in paper["questions"]:
                    if document.text.count(asked["answer"]) != 1:
                        raise SystemExit(f"{paper['file']}: {asked['answer']!r} is not there once")
                    start = document.text.index(asked["answer"])
                    gold = Passage(document.id_, Span(start, start + len(asked["answer"])))
                    hits = comparison.ask(asked["question"]).columns[0].answer.hits
                    nodes = [hit.read for hit in hits]
                    spans = [Span(node.start_char_idx, node.end_char_idx) for node in nodes]
                    passages = [Passage(document.id_, span) for span in spans]
                    texts = {document.id_: document.text}
                    recall[budget].append(best_recall(passages, [(gold,)], texts))
                    of_lists = [
                        span.length
                        for node, span in zip(nodes, spans, strict=True)
                        if node.metadata.get("heading") == _REFERENCES
                    ]
                    listed[budget].append(sum(of_lists) / sum(span.length for span in spans))
    rows = [
        [str(budget), f"{100 * fmean(recall[budget]):.1f}", f"{100 * fmean(listed[budget]):.1f} %"]
        for budget in BUDGETS
    ]
    print(markdown_table(["tokens", f"recall ({len(recall[BUDGETS[0]])})", "of lists"], rows))


if __name__ == "__main__":
    main()
