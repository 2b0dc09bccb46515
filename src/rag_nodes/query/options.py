"""Options of questions, as one plain value that several engines share.

Questions that ask for steps need more of the document than questions for a fact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from llama_index.core.vector_stores.types import MetadataFilters

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.several import several
from rag_nodes.query.checks import (
    check_choice,
    check_number,
    check_prices,
    check_rerank,
    check_texts,
    check_type,
    check_whole,
)
from rag_nodes.query.expansion import EXPANSIONS, Expand
from rag_nodes.store.filters import Filter
from rag_nodes.store.fusion import FUSIONS
from rag_nodes.store.queries import usual_mode
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llama_index.core.postprocessor.types import BaseNodePostprocessor

    from rag_nodes.store import Fusion, Hit, SearchMode


_STEP_PHRASES = {
    "en": """
        how do i | how do you | how do we | how can i | how can you | how can we | how should i
        how should we
        how can one | how can someone | how does one | ^how to | me how to | explain how to
        describe how to | step by step
        steps to | steps for | steps of | what are the steps | which steps | what is the procedure
        procedure for | procedure to | what is the process | process for | describe the process
        what is the method | method for | best way to | ^list the | ^list all | please list
        can you list | instructions for | instructions to""",
    "de": """
        wie * ich | wie kann man | wie können wir | wie muss man | wie soll man | wie sollte man
        wie geht man | wie macht man | wie läuft * ab | schritt für schritt | schritte zu*
        welche schritte | anleitung zu* | anleitung für | vorgehen bei* | vorgehensweise bei*
        ablauf de* | ablauf für | verfahren zu* | verfahren für | ^liste * auf | ^nenne alle
        ^zähle * auf""",
    "fr": """
        comment *er | comment *ir | comment *dre | comment *ttre | comment faire | comment puis je
        comment peut on | comment dois je | étape par étape | étapes pour | étapes de
        quelles sont les étapes | quelle est la procédure | procédure pour | procédure de
        quel est le processus | façon de | méthode pour | ^liste les | ^liste toutes""",
    "es": """
        cómo *ar | cómo *er | cómo *ir | cómo puedo | cómo podemos | cómo debo | cómo hago
        paso a paso | pasos para | pasos de | cuáles son los pasos | cuál es el procedimiento
        procedimiento para | proceso para | método para | manera de | ^lista los | ^lista las""",
    "it": """
        come *are | come *ere | come *ire | come posso | come possiamo | come devo | come si fa
        passo per passo | passo dopo passo | passaggi per | passi per | quali sono i passi
        quali sono i passaggi | qual è la procedura | procedura per | processo per | metodo per
        modo per | ^elenca i | ^elenca le | ^elenca tutti""",
    "pt": """
        como *ar | como *er | como *ir | como posso | como podemos | como devo | como faço
        como fazer | passo a passo | passos para | quais são os passos | qual é o procedimento
        procedimento para | processo para | método para | maneira de | ^liste os | ^liste as""",
    "nl": """
        hoe * ik | hoe kan je | hoe kun je | hoe kunnen we | hoe moet je | stap voor stap
        stappen om | stappen voor | wat zijn de stappen | wat is de procedure | procedure voor
        werkwijze voor | methode om | manier om | ^noem alle""",
    "zh": """
        ^如何 | ^怎么 | ^怎样 | 我如何 | 我该如何 | 我怎么 | 我该怎么 | 怎么做 | 哪些步骤
        步骤是 | 的步骤 | 操作流程 | 的流程 | 的方法是 | ^请列出 | ^列出""",
    "ja": "手順 | やり方 | どうやって | どうすれば | どのようにすれば | する方法 | 方法を教えて",
    "ko": "어떻게 하* | 어떻게 해* | 하는 방법 | 하려면 | 방법을 알려 | 절차는 | 단계는",
}
STEP_WORDS: tuple[str, ...] = tuple(
    dict.fromkeys(
        " ".join(phrase.split())
        for text in _STEP_PHRASES.values()
        for phrase in re.split(r"\||\n", text)
        if phrase.strip()
    )
)
"""Phrases that ask for steps, in frequent languages: `*` stands for the end of a word or any word,
`^` for the beginning of a sentence. No phrase is a single word: most questions with "how",
"process", "list" or "way" ask for a fact."""
_SENTENCE = re.compile(r"[.?!:;\n\u3002\uff1f\uff01\u00bf\u00a1]+")


_Phrase = tuple[bool, tuple[str, ...]]
"""True if the phrase begins a sentence, and patterns of words in a row."""


def asks_for_steps(question: str, step_words: str | Iterable[str] = STEP_WORDS) -> bool:
    """Return True if a question holds one of the phrases, in whole words and any case.

    Args:
        question: in any language.
        step_words: the phrases, words in a row; `*` in one stands for any letters or, alone, any
            word, and `^` before one for the beginning of a sentence.

    Examples:
        >>> from rag_nodes.query.options import asks_for_steps
        >>> asks_for_steps("How do I start the pump?"), asks_for_steps("How old is the pump?")
        (True, False)
    """
    sentences = [words(sentence) for sentence in _SENTENCE.split(question)]
    phrases = [_taken_apart(text) for text in several(step_words)]
    return any(_holds(sentence, phrase) for phrase in phrases for sentence in sentences)


@lru_cache(maxsize=1 << 12)
def _taken_apart(text: str) -> _Phrase:
    first = text.startswith("^")
    parts = text.removeprefix("^").split()
    terms = [word for part in parts for word in ([part.casefold()] if "*" in part else words(part))]
    return first, tuple(terms)


def _holds(sentence: Sequence[str], phrase: _Phrase) -> bool:
    first, patterns = phrase
    size = len(patterns)
    places = range(1 if first else len(sentence) - size + 1)
    return size > 0 and any(
        len(sentence) >= at + size and all(map(fnmatchcase, sentence[at : at + size], patterns))
        for at in places
    )


Granularity = Literal["sentences", "chunks"]
"""Units that are ranked and read: sentences of the chunks that were found, or these chunks."""
GRANULARITIES: tuple[Granularity, ...] = ("sentences", "chunks")
CANDIDATES = 50
"""Chunks retrieved where a token budget decides how many are used."""
READ_IN = 40
"""Number of found chunks whose sentences are ranked."""
READ_IN_RERANKED = 20
"""The same where a reranker has chosen them."""
STEP_FACTOR = 2.0
"""By how much more is read for questions that ask for steps, unless it is said."""


class _Default(int):
    """Number that nobody chose."""


DEFAULT_BUDGET = _Default(1500)
"""Context tokens by default."""
DEFAULT_TOP_K = 5
"""Chunks per question where neither a budget nor a number is given."""

_CHOICES: dict[str, Sequence[str | None]] = {
    "mode": ("hybrid", "dense", "sparse", None),
    "fusion": FUSIONS,
    "expand": EXPANSIONS,
    "granularity": (*GRANULARITIES, None),
}


@checks_keywords
@dataclass(frozen=True, slots=True)
class QueryOptions:
    """Options of a question.

    Attributes:
        budget: context tokens, the same for every parser; None for no limit. The default, 1,500,
            does not limit the nodes of a `RagNodesRetriever` if `top_k` is set.
        top_k: chunks per question; None for as many as fit the budget, or `DEFAULT_TOP_K`.
        granularity: "sentences" reads the sentences that answer, with their neighbours, out of the
            best chunks and those beside them, and fills the budget exactly, so no size of chunks
            has to be right; "chunks" reads whole chunks in the order they were found. None for
            sentences, and in a `Comparison` and an `EvaluationPlan`, which compare chunks, for
            chunks; also where `top_k` asks for a number of chunks, without a budget, and where
            `mode` asks for "dense", as sentences are ranked by their words.
        mode: "sparse" searches by words (BM25), "dense" by an embedding, "hybrid" by both; None for
            words alone, or for both where the embedding is more than the lexical one of offline
            use, a cutoff is asked for, or words are not indexed.
        fusion: how a hybrid search joins its rankings: "score" or "rank".
        filter: search only chunks that pass it, a `Filter` or LlamaIndex's `MetadataFilters`; None
            for all.
        similarity_cutoff: leave out chunks of a lower cosine similarity; None to keep all.
        expand: what is read around what was found: "auto" the window of a sentence or the parent
            of a child, where the parser made them, and nothing else; "none" nothing;
            "neighbours" the chunks before and after as well.
        rerank: puts the candidates into a better order: called with question and hits, or a
            LlamaIndex postprocessor; None to keep the order of the search. Sentences are looked for
            in the best 20 of that order; for whole chunks in that order, ask for "chunks".
        step_words: phrases that ask for steps, see `STEP_WORDS`; () for none.
        step_factor: budget and `top_k` are multiplied by it for such questions; None for
            `STEP_FACTOR`, and in a `Comparison`, where every question gets the same, for 1.
        context_window: tokens of prompt and answer together; None for what the model says.
        prices: US dollars per million tokens by model name, each as `(input, output)`:
            `{"gpt-4o-mini": (0.15, 0.6)}`. They win over the built-in table
            (`rag_nodes.models.prices.PRICES`); the cost of a model in neither is None.
        cache_ttl_hours: how long a question's embedding is remembered; 0 for not at all.
        retrieval_only: show what would be read and answer nothing.

    Raises:
        ConfigurationError: a value is of the wrong type or out of range, or a choice unknown.

    Examples:
        >>> from rag_nodes import QueryOptions
        >>> QueryOptions(budget=None).chunks(widened=False)
        5
    """

    budget: int | None = DEFAULT_BUDGET
    top_k: int | None = None
    granularity: Granularity | None = None
    mode: SearchMode | None = None
    fusion: Fusion = "score"
    filter: Filter | MetadataFilters | None = None
    similarity_cutoff: float | None = None
    expand: Expand = "auto"
    rerank: Callable[[str, Sequence[Hit]], Sequence[Hit]] | BaseNodePostprocessor | None = None
    step_words: str | tuple[str, ...] = STEP_WORDS
    step_factor: float | None = None
    context_window: int | None = None
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    cache_ttl_hours: float = 24.0
    retrieval_only: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot work before anything is asked."""
        for name in ("budget", "top_k", "context_window"):
            check_whole(name, getattr(self, name))
        check_number("similarity_cutoff", self.similarity_cutoff, minimum=-1, maximum=1)
        check_number("step_factor", self.step_factor, minimum=1)
        check_number("cache_ttl_hours", self.cache_ttl_hours, minimum=0)
        for name, choices in _CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        object.__setattr__(self, "step_words", several(self.step_words))
        check_texts("step_words", self.step_words)
        check_prices(self.prices)
        check_type("filter", self.filter, Filter, MetadataFilters)
        check_type("retrieval_only", self.retrieval_only, bool)
        check_rerank(self.rerank)
        if self.granularity == "sentences" and self.budget is None:
            raise ConfigurationError(
                "sentences are read until a budget is full: set a budget, or granularity to chunks"
            )

    @property
    def scope(self) -> Filter:
        """The filter in our terms; if there is none, one that every chunk passes."""
        if isinstance(self.filter, MetadataFilters):
            return Filter(filters=self.filter)
        return self.filter or Filter()

    @property
    def reads_sentences(self) -> bool:
        """True if sentences are ranked and read, instead of whole chunks."""
        if self.granularity is not None:
            return self.granularity == "sentences"
        return self.budget is not None and self.top_k is None and self.mode != "dense"

    @property
    def node_budget(self) -> int | None:
        """Tokens of the nodes of a retriever; None for no limit, as if `top_k` alone is set."""
        is_chosen = self.top_k is None or not isinstance(self.budget, _Default)
        return self.budget if is_chosen else None

    def search_mode(self, *, by_meaning: bool, has_words: bool = True) -> SearchMode:
        """Return the search mode: `mode`, or its meaning if it is None.

        Args:
            by_meaning: embeddings tell meaning, as those of `LexicalEmbedding` do not.
            has_words: the collection has BM25 vectors, see `Store.has_words`.
        """
        compares = self.similarity_cutoff is not None
        return self.mode or usual_mode(
            by_meaning=by_meaning, compares=compares, has_words=has_words
        )

    def chunks(self, *, widened: bool) -> int:
        """Chunks to retrieve at most; a budget alone takes as many candidates as may fit it."""
        wanted = self.top_k or self._candidates()
        return round(wanted * self.factor) if widened else wanted

    def _candidates(self) -> int:
        if self.budget is None:
            return DEFAULT_TOP_K
        if not self.reads_sentences:
            return CANDIDATES
        return READ_IN_RERANKED if self.rerank else READ_IN

    @property
    def factor(self) -> float:
        """By how much more is retrieved for questions that ask for steps."""
        return STEP_FACTOR if self.step_factor is None else self.step_factor

    def tokens(self, *, widened: bool) -> int | None:
        """Context tokens; None for no limit."""
        if self.budget is None or not widened:
            return self.budget
        return round(self.budget * self.factor)
