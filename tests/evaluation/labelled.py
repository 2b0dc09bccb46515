"""A small labelled corpus: what the tests of evaluation share."""

from dataclasses import replace

from llama_index.core import Document

from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.parsers import get_parser
from rag_nodes.query import QueryOptions
from rag_nodes.text.spans import Span

HYBRID = QueryOptions(mode="hybrid", granularity="chunks")
"""By words alone, few chunks are found at all; most tests look at how whole chunks compare."""
PLAN = EvaluationPlan(
    budgets=(30, 60), sizes=(20, 40), target=30, draws=400, ks=(1, 5), options=HYBRID
)
BARE = replace(PLAN, sizes=(), target=None)

TOPICS = {
    "harbour": "The harbour master counts every ferry that enters before noon.",
    "orchard": "Orchard keepers graft three kinds of pear onto one old trunk.",
    "glacier": "The glacier lost eleven metres of ice during the warm summer.",
    "library": "Our library lends seed packets from a drawer beside the stairs.",
    "workshop": "In the workshop a clock is taken apart every second Thursday.",
    "kitchen": "The kitchen serves barley soup on the first frosty morning.",
    "stable": "A stable hand weighs the oats with a brass scale at dawn.",
    "theatre": "The theatre keeps its painted backdrops rolled under the stage.",
}
FILLER = "Nothing of note was written down about the rest of that quiet day. "


def corpus(documents: int = 4) -> Dataset:
    """Documents of several topics with filler between them, and a question per topic."""
    reports, questions = [], []
    for number in range(documents):
        text = f"# Report {number}\n\n"
        for topic, sentence in TOPICS.items():
            sentence_of_year = sentence.replace("The ", f"In year {number} the ", 1)
            start = len(text) + len(FILLER * 3)
            text += f"{FILLER * 3}{sentence_of_year} {FILLER * 2}\n\n"
            gold = Passage(f"doc-{number}", Span(start, start + len(sentence_of_year)))
            questions.append(
                Question(f"{topic}-{number}", f"What of the {topic}?", ((gold,),), kind=topic[:1],
                         within=(f"doc-{number}",))
            )  # fmt: skip
        reports.append(
            Document(text=text, id_=f"doc-{number}", metadata={"file_name": f"{number}.md"})
        )
    return Dataset("reports", tuple(reports), tuple(questions))


def columns() -> dict[str, object]:
    """A column that finds sentences, and one whose chunks drown them."""
    return {
        "small": get_parser("recursive", unit="tokens", chunk_size=30, chunk_overlap=0),
        "large": get_parser("token-overlap", chunk_size=300, chunk_overlap=30),
    }


class Raising:
    """A splitter of somebody else that fails."""

    def split_text(self, _: str) -> list[str]:
        raise ValueError("boom")
