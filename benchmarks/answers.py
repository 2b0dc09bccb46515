"""Whether answers cite the page that answers: questions with known pages, every strategy, offline.

    python benchmarks/answers.py --documents FOLDER
    python benchmarks/answers.py --speed

The questions are in `benchmarks/questions`, one file per document; the documents are not part of
this repository, FOLDER has to hold them. All documents share one collection per strategy.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from measuring import markdown_table, save

from rag_nodes.core.metadata import FILE_NAME, PAGE_END, PAGE_START
from rag_nodes.core.settings import Settings
from rag_nodes.models import Models, choose_models
from rag_nodes.parsers import COMPARED, PRESETS, get_parser
from rag_nodes.pipeline import ingest
from rag_nodes.query import Answer, Citation, Hit, QueryOptions, RagNodesQueryEngine
from rag_nodes.store import open_store

QUESTIONS = Path(__file__).parent / "questions"
GOAL = 0.9
"""Share of questions whose page is to be cited, in every strategy."""


class Asked(NamedTuple):
    """One question with what is known about its answer.

    Attributes:
        question: as a reader would put it.
        file: name of the document that answers.
        pages: the pages that do, counted from 1; one of them is enough.
        answer: in short.
    """

    question: str
    file: str
    pages: frozenset[int]
    answer: str


class Found(NamedTuple):
    """What one strategy made of one question.

    Attributes:
        asked: the question.
        strategy: name of the preset.
        reason: why the page is not cited; "" where it is.
        cited: pages that are cited, as `file p. 3`.
        first: whether the page is in the first citation.
    """

    asked: Asked
    strategy: str
    reason: str
    cited: tuple[str, ...]
    first: bool = False


def questions(folder: Path = QUESTIONS) -> list[Asked]:
    """All questions, document by document."""
    questions = []
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        questions += [
            Asked(
                question["question"], data["file"], frozenset(question["pages"]), question["answer"]
            )
            for question in data["questions"]
        ]
    return questions


def check_pages(documents: Path, folder: Path = QUESTIONS) -> list[str]:
    """Pages that do not hold what the question's file says they hold; for new questions."""
    import pymupdf

    wrong = []
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        with pymupdf.open(documents / data["file"]) as pdf:  # type: ignore[no-untyped-call]
            texts = {number: _plain(page.get_text()) for number, page in enumerate(pdf, start=1)}
        wrong += [
            f"{data['file']}, p. {page}: {question['on_page']!r} is not there"
            for question in data["questions"]
            for page in question["pages"]
            if _plain(question["on_page"]) not in texts[page]
        ]
    return wrong


def judged(asked: Asked, strategy: str, answer: Answer, ranked: Sequence[Hit]) -> Found:
    """Whether an answer cites the page, and where it was lost otherwise.

    Args:
        asked: the question.
        strategy: name of the preset.
        answer: what the engine answered.
        ranked: everything that was retrieved, also what did not fit the budget.
    """
    cited = [_pages(citation) for citation in answer.citations]
    places = tuple(f"{name} p. {pages[0]}" for name, pages in cited if pages)
    right = [name == asked.file and bool(asked.pages & set(pages)) for name, pages in cited]
    if any(right):
        return Found(asked, strategy, "", places, right[0])
    return Found(asked, strategy, _reason(asked, answer, ranked, cited), places)


def _reason(
    asked: Asked,
    answer: Answer,
    ranked: Sequence[Hit],
    cited: Sequence[tuple[str, range]],
) -> str:
    given = {hit.node.node_id for source in answer.sources for hit in source.hits}
    rank = next((hit.rank for hit in ranked if _holds(hit, asked)), None)
    if rank is None:
        return f"not among the {len(ranked)} best chunks"
    if not any(hit.node.node_id in given and _holds(hit, asked) for hit in ranked):
        return f"over budget: rank {rank}"
    beside = {page + step for page in asked.pages for step in (-1, 1)}
    if any(name == asked.file and beside & set(pages) for name, pages in cited):
        return f"page beside it quoted, rank {rank}"
    return f"in the context but not quoted, rank {rank}"


def _holds(hit: Hit, asked: Asked) -> bool:
    """Whether a chunk has text of a page that answers."""
    metadata = hit.node.metadata
    first = metadata.get(PAGE_START)
    if metadata.get(FILE_NAME) != asked.file or first is None:
        return False
    return bool(asked.pages & set(range(first, (metadata.get(PAGE_END) or first) + 1)))


def _pages(citation: Citation) -> tuple[str, range]:
    if citation.page is None:
        return citation.file_name, range(0)
    return citation.file_name, range(citation.page, (citation.page_end or citation.page) + 1)


def _plain(text: str) -> str:
    """Text for comparing: one blank between words, no ligatures, typographic marks as typed."""
    from unicodedata import normalize

    return " ".join(normalize("NFKC", text).translate({0x2019: "'"}).casefold().split())


def measure(documents: Path, strategies: Iterable[str], wanted: QueryOptions) -> list[Found]:
    """Ask every question with every strategy, offline."""
    asked = questions()
    models = offline()
    parsers = {name: get_parser(name) for name in strategies}
    with open_store() as store:
        paths = sorted({documents / question.file for question in asked})
        report = ingest(paths, parsers, store, models=models)
        if report.failed:
            raise SystemExit("\n".join(str(file.error) for file in report.failed))
        collections = {column.parser: column.collection for column in report.columns}
        judgements = []
        for name in parsers:
            engine = RagNodesQueryEngine(
                store=store,
                collection=collections[name],
                models=models,
                options=wanted,
            )
            for question in asked:
                vector = engine.retriever.question_vector(question.question).vector
                ranked = engine.retriever.hits(question.question, vector)
                answer = engine.answer(question.question, question_vector=vector)
                judgements.append(judged(question, name, answer, ranked))
    return judgements


def offline() -> Models:
    """The models that need no key."""
    return choose_models(Settings(embedding="lexical", llm="extractive"))


def table(judgements: Sequence[Found]) -> str:
    """Share of questions whose page is cited, per document and strategy; bold below the goal."""
    files = list(dict.fromkeys(judgement.asked.file for judgement in judgements))
    rows = []
    for strategy in dict.fromkeys(judgement.strategy for judgement in judgements):
        own = [judgement for judgement in judgements if judgement.strategy == strategy]
        parts = [[judgement for judgement in own if judgement.asked.file == file] for file in files]
        first = f"{sum(judgement.first for judgement in own)} of {len(own)}"
        rows.append([PRESETS[strategy].title, *map(_share, parts), _share(own, goal=GOAL), first])
    return markdown_table(["strategy", *files, "all", "cited first"], rows)


def _share(judgements: Sequence[Found], goal: float = 0.0) -> str:
    good = sum(not judgement.reason for judgement in judgements)
    text = f"{good} of {len(judgements)}"
    return text if good >= goal * len(judgements) else f"**{text}**"


def misses(judgements: Sequence[Found]) -> str:
    """What was missed and why, one line per question and reason."""
    rows = [
        [_where(judgement.asked), judgement.strategy, judgement.reason]
        for judgement in judgements
        if judgement.reason
    ]
    return markdown_table(["question", "strategy", "reason"], rows)


def _where(asked: Asked) -> str:
    pages = ", ".join(map(str, sorted(asked.pages)))
    return f"{asked.question} ({asked.file}, p. {pages})"


def main(arguments: list[str] | None = None) -> int:
    """Print the tables and write the raw numbers."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--documents", type=Path, help="folder that holds the documents")
    options.add_argument("--check", action="store_true", help="only check the questions' pages")
    options.add_argument("--parser", action="append", choices=list(PRESETS), metavar="NAME")
    options.add_argument("--budget", type=int, default=1500)
    options.add_argument("--mode", choices=["hybrid", "dense", "sparse"], default="hybrid")
    options.add_argument("--granularity", choices=["sentences", "chunks"], default="sentences")
    options.add_argument("--speed", action="store_true", help="time next to LlamaIndex's engines")
    chosen = options.parse_args(arguments)
    if chosen.speed:
        import answer_speed

        return answer_speed.main([])
    if chosen.documents is None:
        options.error("--documents: name the folder that holds the documents")
    if wrong := check_pages(chosen.documents):
        print("\n".join(wrong))
        return 1
    if chosen.check:
        return 0
    wanted = QueryOptions(budget=chosen.budget, mode=chosen.mode, granularity=chosen.granularity)
    judgements = measure(chosen.documents, chosen.parser or COMPARED, wanted)
    print(table(judgements))
    print(f"\n{misses(judgements)}")
    rows = [
        {
            **judgement._asdict(),
            "asked": {**judgement.asked._asdict(), "pages": sorted(judgement.asked.pages)},
        }
        for judgement in judgements
    ]
    print(f"\nraw numbers: {save('answers', rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
