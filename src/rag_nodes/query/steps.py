"""Questions that ask for steps need more of the document than questions for a fact."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LISTS = {
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
        for text in _LISTS.values()
        for phrase in re.split(r"\||\n", text)
        if phrase.strip()
    )
)
"""How steps are asked for, in the languages we see most: `*` stands for what may end a
word or be any word, `^` for the beginning of a sentence. No word alone: most questions with "how",
"process", "list" or "way" ask for a fact."""
_SENTENCE = re.compile(r"[.?!:;\n\u3002\uff1f\uff01\u00bf\u00a1]+")


class _Phrase(NamedTuple):
    """A phrase taken apart: patterns of words in a row, and where they have to stand."""

    words: tuple[str, ...]
    first: bool


def asks_for_steps(question: str, step_words: Iterable[str] = STEP_WORDS) -> bool:
    """Whether a question holds one of the phrases, in whole words and any case.

    Args:
        question: in the user's words.
        step_words: as `STEP_WORDS`.

    Example:
        >>> asks_for_steps("How do I start the pump?"), asks_for_steps("How old is the pump?")
        (True, False)
    """
    sentences = [words(sentence) for sentence in _SENTENCE.split(question)]
    phrases = [_taken_apart(text) for text in step_words]
    return any(_holds(sentence, one) for one in phrases for sentence in sentences)


@lru_cache(maxsize=1 << 12)
def _taken_apart(text: str) -> _Phrase:
    first = text.startswith("^")
    parts = text.removeprefix("^").split()
    found = [one for part in parts for one in ([part.casefold()] if "*" in part else words(part))]
    return _Phrase(tuple(found), first)


def _holds(sentence: Sequence[str], phrase: _Phrase) -> bool:
    size = len(phrase.words)
    places = range(1 if phrase.first else len(sentence) - size + 1)
    return size > 0 and any(
        len(sentence) >= at + size and all(map(fnmatchcase, sentence[at : at + size], phrase.words))
        for at in places
    )
