"""Questions that ask for steps need more of the document than questions for a fact (S4-11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable

_LISTS = {
    "en": "step steps process processes how procedure procedures method methods way ways list",
    "de": (
        "schritt schritte schritten wie anleitung vorgehen vorgehensweise ablauf verfahren "
        "prozess methode methoden weg wege liste"
    ),
    "fr": "étape étapes comment procédure procédures processus méthode méthodes façon liste",
    "es": "paso pasos cómo procedimiento procedimientos proceso método métodos manera lista",
    "it": "passo passi passaggi come procedura procedure processo metodo metodi modo elenco",
    "pt": "passo passos como procedimento procedimentos processo método métodos maneira lista",
    "nl": "stap stappen hoe procedure werkwijze proces methode methoden manier lijst",
    "zh": "步骤 如何 怎么 流程 方法",
    "ja": "手順 方法 やり方",
    "ko": "단계 방법 절차 어떻게",
}
STEP_WORDS: tuple[str, ...] = tuple(
    dict.fromkeys(word for text in _LISTS.values() for word in text.split())
)
"""Words that ask for steps (S4-12), in the languages we see most."""


def asks_for_steps(question: str, step_words: Iterable[str] = STEP_WORDS) -> bool:
    """Whether a question holds one of the words, whole and in any case.

    Example:
        >>> asks_for_steps("How is the pump started?"), asks_for_steps("Show the pump")
        (True, False)
    """
    asked = set(words(question))
    return any(parts and asked.issuperset(parts) for parts in map(words, step_words))
