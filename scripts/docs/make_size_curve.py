"""Makes the picture of docs/concepts/evaluation.md, and the README's decision.

`python scripts/docs/make_size_curve.py` evaluates the example manual with the defaults of
`rag-nodes evaluate`, which takes half a minute. The decision stands between two comments,
`<!-- decision -->` and `<!-- /decision -->`.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from llama_index.core.node_parser import SentenceSplitter

from rag_nodes.core.settings import Settings
from rag_nodes.evaluation.importers import load_dataset
from rag_nodes.evaluation.page import html_of
from rag_nodes.evaluation.page.plots import size_curve
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.run import evaluate
from rag_nodes.models import choose_models
from rag_nodes.parsers import COMPARED, get_parser
from rag_nodes.readers import read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_nodes.evaluation.report import EvaluationReport

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "examples" / "corpus" / "ferry.pdf"
QUESTIONS = ROOT / "examples" / "corpus" / "ferry_questions.csv"
PICTURE = ROOT / "docs" / "images" / "size-curve.svg"
README = ROOT / "README.md"
_DECISION = re.compile(r"(?<=<!-- decision -->\n).*?(?=<!-- /decision -->)", re.DOTALL)
_STYLE = re.compile(r"<style>\n(.*?)</style>", re.DOTALL)
_OF_THE_PICTURE = re.compile(r"^(?::root|@media screen|  --|svg text|svg \.|\.c\d)", re.MULTILINE)


def measured(plan: EvaluationPlan, columns: Mapping[str, object] | None = None) -> EvaluationReport:
    """The four parsers of the demo, or others, on the example manual's questions, offline."""
    models = choose_models(Settings(embedding="lexical", llm="extractive"))
    dataset = load_dataset(QUESTIONS, [read(DOCUMENT)])
    return evaluate(
        dataset,
        columns or {name: get_parser(name) for name in COMPARED},
        plan=plan,
        models=models,
    )


def decision() -> str:
    """Return the verdict of `make demo` as a quotation in lines of a hundred characters."""
    columns = {"SentenceSplitter": SentenceSplitter(), "retrieval": get_parser("retrieval")}
    report = measured(EvaluationPlan(sizes=()), columns)
    text = f"{report.decision.certainty} {report.decision.words}"
    return textwrap.fill(
        text, 100, initial_indent="> ", subsequent_indent="> ", break_on_hyphens=False
    )


def picture(report: EvaluationReport) -> str:
    """The size curve as a file of its own, light or dark like the page around it."""
    (style,) = _STYLE.findall(html_of(report))
    rules = "\n".join(line for line in style.splitlines() if _OF_THE_PICTURE.match(line))
    background = '<rect width="100%" height="100%" rx="8" style="fill: var(--page)"/>'
    opening, rest = str(size_curve(report)).split(">", 1)
    opening = opening.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg" width="960"')
    return f"{opening}>\n<style>\n{rules}\n</style>\n{background}\n{rest}\n"


def with_decision(page: str, text: str) -> str:
    """The text of the README with the decision made anew."""
    return _DECISION.sub(lambda _: f"{text}\n", page)


def main() -> None:
    """Write the picture and the decision."""
    PICTURE.write_text(picture(measured(EvaluationPlan())), encoding="utf-8")
    front = with_decision(README.read_text(encoding="utf-8"), decision())
    README.write_text(front, encoding="utf-8")


if __name__ == "__main__":
    main()
