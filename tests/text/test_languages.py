"""Function words, stems, and the language of a text."""
# ruff: noqa: RUF001 -- letters of other alphabets are meant

import pytest

from rag_nodes.text import languages
from rag_nodes.text.languages import guess_language, stemmed


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


@pytest.mark.parametrize("language", sorted(languages._STEMMED))
def test_every_language_has_the_algorithm_it_names(language: str) -> None:
    assert stemmed("1250", language) == "1250"


@pytest.mark.parametrize("language", ["zh", "ja", "th", "xx", ""])
def test_a_language_without_an_algorithm_keeps_its_words(language: str) -> None:
    assert stemmed("bicycles", language) == "bicycles"


def test_overlong_words_take_no_time() -> None:
    assert stemmed("ing" * 100_000, "sr") == "ing" * 100_000


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The cat sat on the mat and it was happy with that.", "en"),
        ("Der Hund ist nicht auf dem Sofa und das ist gut.", "de"),
        ("Le chat est sur la table et il ne veut pas partir.", "fr"),
        ("Это не то, что я думал, и как он это сделал.", "ru"),
        ("これは日本語の文章です。", "ja"),
        ("这是中文句子。", "zh"),
        ("กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย และ RAG คืออะไร", "th"),
        ("Färjan går klockan nio och hundar åker gratis, men inte om det är för varmt.", "sv"),
        ("Hundene rejser gratis af og til, og det blev også sagt efter turen.", "da"),
        ("Hundene reiser gratis av og til, og det ble også sagt etter turen.", "no"),
        ("Lautta lähtee yhdeksältä ja koirat ovat mukana, mutta kahvila ei ole auki.", "fi"),
        ("Je to dobré, že se pes veze zdarma, ale kavárna je otevřená až od deseti.", "cs"),
        ("A komp kilenckor indul, és nem is kell jegy, csak az a kutya ugat, hogy itt van.", "hu"),
        ("Feribotul pleacă la nouă și nu este o cafenea care să fie deschisă.", "ro"),
        ("Bu feribot için bilet ve yemek ne kadar, çok mu daha pahalı?", "tr"),
        ("Це не те, що я думав, і як він це зробив для неї.", "uk"),
        ("xyz 123", "en"),
        ("", "en"),
    ],
)
def test_the_language_is_told_by_script_or_small_words(text: str, language: str) -> None:
    assert guess_language(text) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Pumpe der Pumpe die", "en"),
        ("Pumpe der Pumpe die Pumpe das", "de"),
        ("the of and le la les", "en"),
        ("der die das und nicht the of " + "x" * 500 + " the and was it for" * 9, "en"),
        ("the pump and the tank of 泵在夜间", "en"),
        ("the pump 泵在夜间运行", "zh"),
    ],
    ids=[
        "two small words are too few",
        "three are enough",
        "English before another one with as many",
        "a beginning that leaves it open is not enough",
        "a few Chinese letters in an English text",
        "many of them",
    ],
)
def test_a_language_is_guessed_only_from_enough_evidence(text: str, language: str) -> None:
    assert guess_language(text) == language
