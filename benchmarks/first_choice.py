"""What a first choice without questions costs, beside other ways to choose.

Twelve settings (three parsers at four sizes) over seven parts of five labelled sets, searched by
words: BM25 in memory, since a store takes twenty times as long to say the same. People's questions
say how good each setting is; the loss of a way to choose is how far its first setting is behind the
best one. Compared are probes of each length (`rag_nodes.evaluation.drafts.probes`), each at the
budget at which probes of that length choose; a setting at random; `recursive` at 200 tokens without
looking; `recursive` at a size that goes by the length of answers alone; and twenty of people's own
questions, judged by the rest of them. How far people's questions agree with themselves, half
against half, is the most that can be expected.

    python benchmarks/first_choice.py --data FOLDER --pages PAGES.json --kept first_choice.json
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from labelled_sets import OWN_DOCUMENT, half_of, labelled_set, options_of
from llama_index.core.schema import TextNode
from measuring import markdown_table
from numpy.typing import NDArray

from rag_nodes.evaluation.columns import variants_of
from rag_nodes.evaluation.dataset import Answer, Dataset, Question
from rag_nodes.evaluation.drafts.probes import CHARACTERS, probes
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.parsers import SpanNodeParser, get_parser
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import count_tokens
from rag_nodes.text.words import words

Floats = NDArray[np.float64]
COLUMNS = ("recursive", "heading", "semantic")
SIZES = (100, 200, 400, 800)
STANDARD = "recursive at 200"
BY_LENGTH = {"sentence": "recursive at 100", "paragraph": "recursive at 200",
             "page": "recursive at 800"}  # fmt: skip
"""What somebody would take who knows nothing but how long answers are."""
SHORT_BUDGET, BUDGET = 200, 1000
"""Tokens at which people's questions judge the settings: of sets of short documents, of others."""
SHORT = ("de",)
"""Sets whose documents are too short for the usual budget."""
HALVED = ("qmsum", "evidence_inference")
"""Sets of two parts: the rule was found on one half of their documents."""
SETS = ("headed", "qmsum", "evidence_inference", "de", "chroma")
TITLES = {"headed": "web pages", "qmsum": "meetings", "evidence_inference": "trials",
          "de": "Wikipedia (de)", "chroma": "Chroma"}  # fmt: skip
SEEDS = range(5)
HALVES, TWENTIES, TWENTY = 200, 300, 20


class Part(NamedTuple):
    """Recall of every setting: a row a question.

    Attributes:
        name: of the part.
        gold: median characters of people's answers.
        settings: name of every column of the values.
        people: by people's questions.
        probes: by probes of each length, each seed by itself.
    """

    name: str
    gold: float
    settings: list[str]
    people: Floats
    probes: dict[str, list[Floats]]

    @property
    def nearest(self) -> str:
        """The length that is nearest to people's answers, as a ratio."""
        return min(
            CHARACTERS, key=lambda characters: abs(np.log(CHARACTERS[characters] / self.gold))
        )

    def loss(self, values: Floats) -> float:
        """How far the setting that some questions put first is behind the best, in points."""
        truth = self.people.mean(axis=0)
        return 100 * float(truth.max() - truth[int(values.mean(axis=0).argmax())])

    def tau(self, values: Floats) -> float:
        """Kendall's tau of the settings, by some questions and by people's."""
        return tau(self.people.mean(axis=0), values.mean(axis=0))


def parts_of(name: str, dataset: Dataset) -> Iterator[tuple[str, Dataset]]:
    """A set, or its two halves of documents, with the documents that are asked about."""
    for half in (0, 1) if name in HALVED else (None,):
        questions = tuple(question for question in dataset.questions
                          if half in (None, half_of(dataset.names[question.document])))  # fmt: skip
        about = {question.document for question in questions}
        documents = tuple(document for document in dataset.documents
                          if name not in OWN_DOCUMENT or document.id_ in about)  # fmt: skip
        title = TITLES[name] + ("" if half is None else f", half {half + 1}")
        yield title, replace(dataset, documents=documents, questions=questions, not_located=())


class Words:
    """Chunks searched by BM25 (k1 1.2, b 0.75) over their words."""

    def __init__(self, nodes: list[TextNode]) -> None:
        self.passages = [
            Passage(node.ref_doc_id or "", Span(node.start_char_idx or 0, node.end_char_idx or 0))
            for node in nodes
        ]
        self.tokens = [max(1, count_tokens(node.text)) for node in nodes]
        self.numbers: dict[str, int] = {}
        self.documents = np.array(
            [
                self.numbers.setdefault(passage.document, len(self.numbers))
                for passage in self.passages
            ]
        )
        counters = [Counter(words(node.text)) for node in nodes]
        lengths = np.array([sum(counter.values()) for counter in counters])
        holders: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, counts in enumerate(counters):
            for word, times in counts.items():
                holders[word].append((number, times))
        self.weights: dict[str, tuple[NDArray[np.int64], Floats]] = {}
        for word, postings in holders.items():
            at, times = np.array(postings).T
            rarity = np.log(1 + (len(nodes) - len(at) + 0.5) / (len(at) + 0.5))
            norm = 1.2 * (0.25 + 0.75 * lengths[at] / lengths.mean())
            self.weights[word] = at, rarity * times * 2.2 / (times + norm)

    def recall(self, question: Question, budget: int) -> float:
        """Share of the answer's characters in what fills a budget, the last chunk cut."""
        scores = np.zeros(len(self.passages))
        for word in {*words(question.text)} & self.weights.keys():
            at, weights = self.weights[word]
            scores[at] += weights
        if question.within is not None:
            own = [
                self.numbers[document] for document in question.within if document in self.numbers
            ]
            scores[~np.isin(self.documents, own)] = 0
        left, read = budget, list[Passage]()
        matches = np.flatnonzero(scores > 0)
        for number in matches[np.argsort(-scores[matches], kind="stable")]:
            if left <= 0:
                break
            (document, span), tokens = self.passages[number], self.tokens[number]
            share = min(1.0, left / tokens)
            read.append(Passage(document, Span(span.start, span.start + int(span.length * share))))
            left -= tokens
        return max(_share(answer, read) for answer in question.gold)


def _share(answer: Answer, read: list[Passage]) -> float:
    covered_characters = 0
    for document, span in answer:
        inside = np.zeros(span.length, bool)
        for other, part in read:
            if other == document:
                low = max(part.start - span.start, 0)
                inside[low : max(part.end - span.start, low)] = True
        covered_characters += int(inside.sum())
    return covered_characters / sum(span.length for _, span in answer)


def measured(name: str, title: str, people: Dataset) -> Part:
    """All settings by people's questions and by probes."""
    asked = {"people": people}
    for seed in SEEDS:
        probe_set = probes(people.documents, CHARACTERS["sentence"], seed=seed)
        for length, characters in CHARACTERS.items():
            own = replace(
                probe_set, questions=probe_set.beside.get(characters, probe_set.questions)
            )
            asked[f"{length} {seed}"] = own.narrowed() if name in OWN_DOCUMENT else own
    judged = EvaluationPlan(budgets=(SHORT_BUDGET if name in SHORT else BUDGET,))
    at = {"people": judged.budget}
    at |= {length: judged.probed_at(size) for length, size in CHARACTERS.items()}
    plan = EvaluationPlan(sizes=SIZES, target=None)
    parsers = {column: get_parser(column) for column in COLUMNS}
    settings = [variant for variant in variants_of(parsers, plan)[0] if variant.role == "size"]
    recalls: dict[str, list[list[float]]] = defaultdict(list)
    for setting in settings:
        assert isinstance(setting.parser, SpanNodeParser)  # noqa: S101 -- all of these are
        nodes = setting.parser.get_nodes_from_documents(list(people.documents))
        chunks = Words([node for node in nodes if isinstance(node, TextNode)])
        for source, dataset in asked.items():
            budget = at[source.partition(" ")[0]]
            recalls[source].append(
                [chunks.recall(question, budget) for question in dataset.questions]
            )
    values = {source: np.array(each).T for source, each in recalls.items()}
    gold = median(
        sum(passage.span.length for passage in question.gold[0]) for question in people.questions
    )
    return Part(title, gold, [variant.name for variant in settings], values["people"],
                {length: [values[f"{length} {seed}"] for seed in SEEDS]
                 for length in CHARACTERS})  # fmt: skip


def tau(left: Floats, right: Floats) -> float:
    """Kendall's tau-b: 1 for the same order, 0 for none, -1 for the opposite."""
    first_signs, second_signs = (
        np.array([np.sign(a - b) for a, b in combinations(values, 2)]) for values in (left, right)
    )
    ties = np.sqrt(float((first_signs != 0).sum()) * float((second_signs != 0).sum()))
    return float((first_signs * second_signs).sum() / ties) if ties else 0.0


def halves(people: Floats, rng: np.random.Generator) -> float:
    """Mean tau of one half of people's questions with the other."""
    correlations = []
    for _ in range(HALVES):
        order, middle = rng.permutation(len(people)), len(people) // 2
        first, second = people[order[:middle]], people[order[middle:]]
        correlations.append(tau(first.mean(axis=0), second.mean(axis=0)))
    return float(np.mean(correlations))


def twenty(people: Floats, rng: np.random.Generator) -> float:
    """Mean loss of what twenty of people's questions put first, judged by the rest, in points."""
    losses = []
    for _ in range(TWENTIES):
        order = rng.permutation(len(people))
        own, rest = people[order[:TWENTY]].mean(axis=0), people[order[TWENTY:]].mean(axis=0)
        losses.append(rest.max() - rest[int(own.argmax())])
    return 100 * float(np.mean(losses))


def print_tables(parts: list[Part]) -> None:
    """The table of losses, and that of agreement."""
    rng = np.random.default_rng(0)
    losses, agreed = [], []
    for part in parts:
        truth = part.people.mean(axis=0)
        by_length = {length: float(np.mean([part.loss(draw) for draw in each]))
                     for length, each in part.probes.items()}  # fmt: skip
        losses.append([
            by_length[part.nearest], *by_length.values(),
            100 * float(truth.max() - truth.mean()),
            *(100 * float(truth.max() - truth[part.settings.index(choice)])
              for choice in (STANDARD, BY_LENGTH[part.nearest])),
            twenty(part.people, rng),
        ])  # fmt: skip
        agreed.append([
            float(np.mean([part.tau(draw) for draw in part.probes[part.nearest]])),
            *(float(np.mean([part.tau(draw) for draw in each])) for each in part.probes.values()),
            halves(part.people, rng),
        ])  # fmt: skip
    names = [f"{part.name} ({len(part.people)}; {part.gold:,.0f})" for part in parts]
    print("\nLoss, points behind the best of twelve; in brackets questions and median answer:\n")
    heads = ["part", "right length", *CHARACTERS, "random", STANDARD, "by length alone",
             "twenty of people's"]  # fmt: skip
    rows = [*losses, [float(loss) for loss in np.mean(losses, axis=0)]]
    shown = zip([*names, "mean"], rows, strict=True)
    print(markdown_table(heads, [[name, *(f"{loss:.1f}" for loss in row)] for name, row in shown]))
    print("\nKendall's tau with people's ranking:\n")
    heads = ["part", "right length", *CHARACTERS, "people, half with half"]
    print(markdown_table(heads, [[name, *(f"{correlation:+.2f}" for correlation in row)]
                                 for name, row in zip(names, agreed, strict=True)]))  # fmt: skip
    worst = [max(part.loss(draw) for draw in part.probes[part.nearest]) for part in parts]
    print("\nworst draw of the right length, a part:", *(f"{loss:.1f}" for loss in worst))


def kept(path: Path) -> list[Part]:
    """Parts that were measured before."""
    plain = json.loads(path.read_text("utf-8")) if path.exists() else []
    return [Part(fields["name"], fields["gold"], fields["settings"], np.array(fields["people"]),
                 {length: [np.array(values) for values in each]
                  for length, each in fields["probes"].items()}) for fields in plain]  # fmt: skip


def keep(path: Path, parts: list[Part]) -> None:
    """Write what was measured, so that a run that was ended goes on."""
    plain = [{**part._asdict(), "people": part.people.tolist(),
              "probes": {length: [values.tolist() for values in each]
                         for length, each in part.probes.items()}} for part in parts]  # fmt: skip
    path.write_text(json.dumps(plain), "utf-8")


def main() -> None:
    """Measure what is not kept yet, and print the tables."""
    parser = options_of(__doc__ or "", SETS)
    parser.add_argument("--kept", type=Path, required=True, help="JSON with what was measured")
    given = parser.parse_args()
    parts = kept(given.kept)
    for name in given.sets:
        for title, people in parts_of(name, labelled_set(name, given.data, given.pages)):
            if title not in {part.name for part in parts}:
                parts.append(measured(name, title, people))
                keep(given.kept, parts)
                print(title, "measured", flush=True)
    print_tables(parts)


if __name__ == "__main__":
    main()
