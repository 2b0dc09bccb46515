"""Words to their stems."""

import pytest

from rag_nodes.text import stemming
from rag_nodes.text.stemming import stemmed


@pytest.mark.parametrize(
    ("language", "word", "other"),
    [
        ("en", "bicycles", "bicycle"),
        ("de", "katzen", "katze"),
        ("fr", "continuellement", "continuelle"),
        ("es", "torniquetes", "torniquete"),
        ("ru", "книги", "книга"),
        ("el", "σκύλοι", "σκύλος"),
        ("ar", "الكتاب", "كتاب"),
        ("hi", "लड़कियाँ", "लड़की"),
        ("tr", "evler", "ev"),
        ("ro", "persoanele", "persoană"),
    ],
)
def test_forms_of_a_word_share_a_stem_in_their_language(
    language: str, word: str, other: str
) -> None:
    assert stemmed(word, language) == stemmed(other, language)


@pytest.mark.parametrize("language", stemming._ALGORITHMS)
def test_every_language_has_the_algorithm_it_names(language: str) -> None:
    assert stemmed("1250", language) == "1250"


@pytest.mark.parametrize("language", ["zh", "ja", "th", "xx", ""])
def test_a_language_without_an_algorithm_keeps_its_words(language: str) -> None:
    assert stemmed("bicycles", language) == "bicycles"


def test_what_is_too_long_for_a_word_is_no_work() -> None:
    assert stemmed("ing" * 100_000, "sr") == "ing" * 100_000
