"""How a question is asked, by language; keywords where no template is known.

Templates are made of small words wherever the language allows, so that what a draft shares with its
answer, and with other places, is what it asks about.
"""

from __future__ import annotations

from typing import NamedTuple

from rag_nodes.text.languages import guess_language
from rag_nodes.text.words import words


class Wording(NamedTuple):
    """The templates of one language; `{0}` is what is asked about, `{1}` what of it.

    Attributes:
        heading: what stands below a heading.
        definition: what a term means.
        list: the items below a heading or behind a sentence.
        table: one cell of a row.
        sentence: what is said with some words.
        number: how much it is.
        year: when it was.
        joint: between the last two of several things.
    """

    heading: str
    definition: str
    list: str
    table: str
    sentence: str
    number: str
    year: str
    joint: str

    @property
    def is_unspaced(self) -> bool:
        """Whether no blanks part the words of the language."""
        return self.joint == _UNSPACED_JOINT


_UNSPACED_JOINT = "、"
_WORDINGS = {
    "en": Wording(
        "What do I need to know about {0}?",
        "What is meant by {0}?",
        "Which are they: {0}?",
        "What is the {1} of {0}?",
        "What about {0}?",
        "How many or how much is it for {0}?",
        "When was it, about {0}?",
        " and ",
    ),
    "de": Wording(
        "Was muss ich über {0} wissen?",
        "Was ist {0}?",
        "Welche sind das: {0}?",
        "Was ist „{1}“ bei {0}?",
        "Was ist mit {0}?",
        "Wie viel oder wie viele sind es bei {0}?",
        "Wann war das mit {0}?",
        " und ",
    ),
    "fr": Wording(
        "Que faut-il savoir sur {0} ?",
        "Qu'est-ce que {0} ?",
        "Quels sont-ils : {0} ?",
        "Quel est « {1} » pour {0} ?",
        "Qu'en est-il de {0} ?",
        "Combien est-ce pour {0} ?",
        "Quand était-ce, pour {0} ?",
        " et ",
    ),
    "es": Wording(
        "¿Qué hay que saber sobre {0}?",
        "¿Qué es {0}?",
        "¿Cuáles son: {0}?",
        "¿Cuál es «{1}» de {0}?",
        "¿Qué hay de {0}?",
        "¿Cuánto o cuántos son para {0}?",
        "¿Cuándo fue lo de {0}?",
        " y ",
    ),
    "it": Wording(
        "Che cosa c'è da sapere su {0}?",
        "Che cosa è {0}?",
        "Quali sono: {0}?",
        "Quale è «{1}» di {0}?",
        "Che cosa si dice di {0}?",
        "Quanto o quanti sono per {0}?",
        "Quando è stato, per {0}?",
        " e ",
    ),
    "pt": Wording(
        "O que é preciso saber sobre {0}?",
        "O que é {0}?",
        "Quais são: {0}?",
        "Qual é «{1}» de {0}?",
        "O que há sobre {0}?",
        "Quanto ou quantos são para {0}?",
        "Quando foi, sobre {0}?",
        " e ",
    ),
    "nl": Wording(
        "Wat moet ik weten over {0}?",
        "Wat is {0}?",
        "Welke zijn dat: {0}?",
        "Wat is '{1}' van {0}?",
        "Hoe zit het met {0}?",
        "Hoe veel zijn het bij {0}?",
        "Wanneer was dat met {0}?",
        " en ",
    ),
    "zh": Wording(
        "关于{0}需要知道什么？",  # noqa: RUF001 -- Chinese punctuation is meant
        "什么是{0}？",  # noqa: RUF001
        "{0}有哪些？",  # noqa: RUF001
        "{0}的{1}是什么？",  # noqa: RUF001
        "{0}是怎么回事？",  # noqa: RUF001
        "{0}是多少？",  # noqa: RUF001
        "{0}是什么时候？",  # noqa: RUF001
        _UNSPACED_JOINT,
    ),
    "ja": Wording(
        "{0}について何を知っておくべきですか。",
        "{0}とは何ですか。",
        "{0}にはどれがありますか。",
        "{0}の{1}は何ですか。",
        "{0}はどうなっていますか。",
        "{0}はいくつですか。",
        "{0}はいつですか。",
        _UNSPACED_JOINT,
    ),
}
_KEYWORDS = Wording("{0}", "{0}", "{0}", "{0} {1}", "{0}", "{0}", "{0}", " ")
"""Asks in any language, as people type into a search field."""
_ENGLISH = frozenset(words("the of and to in is for that"))
_LEAST_ENGLISH = 0.04
"""Share of the smallest words from which a text is English, and not one of an unknown language."""
_SAMPLE = 8_000


def wording_of(text: str) -> Wording:
    """How to ask about a text in its own language."""
    language = guess_language(text)
    if language == "en" and not _is_english(text[:_SAMPLE]):
        return _KEYWORDS
    return _WORDINGS.get(language, _KEYWORDS)


def joined(terms: list[str], topic: str, wording: Wording) -> str:
    """Terms side by side and what they belong to, as a sentence has them or as keywords."""
    if wording is _KEYWORDS:
        return " ".join([topic, *terms] if topic else terms)
    comma = wording.joint if wording.is_unspaced else ", "
    together = wording.joint.join([comma.join(terms[:-1]), terms[-1]] if terms[1:] else terms)
    return f"{together} ({topic})" if topic else together


def _is_english(sample: str) -> bool:
    found = words(sample)
    return sum(word in _ENGLISH for word in found) >= _LEAST_ENGLISH * max(1, len(found))
