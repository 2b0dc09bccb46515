"""Words to their stems, so that `bicycles` in a question meets `bicycle` in a text.

The algorithms are those of the Snowball project (Porter, "Snowball: A language for stemming
algorithms", 2001), one for each language that has one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

_ALGORITHMS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
_LONGEST = 100
"""Letters of the longest word that is stemmed; what is longer is none."""


def stemmed(word: str, language: str) -> str:
    """The stem of a word; the word itself in a language without an algorithm.

    Args:
        word: as `rag_nodes.text.words.words` returns it.
        language: ISO 639-1 code.
    """
    stemmer = _stemmer(language)
    if stemmer is None or len(word) > _LONGEST:
        return word
    stem: str = stemmer.stemWord(word)
    return stem


@lru_cache(maxsize=2 * len(_ALGORITHMS))
def _stemmer(language: str) -> Any:
    """What stems a language, without a cache of its own, which would make it slower."""
    import Stemmer

    algorithm = _ALGORITHMS.get(language)
    return Stemmer.Stemmer(algorithm, 0) if algorithm else None
