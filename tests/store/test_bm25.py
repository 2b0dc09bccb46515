# ruff: noqa: RUF001 -- letters of other alphabets are meant
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.store import bm25
from rag_nodes.store.bm25 import document_vectors, query_vectors
from rag_nodes.text.languages import content_words, stemmed
from rag_nodes.text.words import stem_id, term_id, words


def weight(text: str, word: str) -> float:
    indices, values = document_vectors([text])
    return dict(zip(indices[0], values[0], strict=True))[term_id(word)]


@pytest.mark.parametrize(
    ("times", "length", "expected"),
    [
        # count * (k1 + 1) / (count + k1 * (1 - b + b * length / average)) with k1 = 1.2,
        # b = 0.75 and an average of 150 words
        (1, 150, 2.2 / 2.2),
        (3, 150, 6.6 / 4.2),
        (1, 300, 2.2 / (1 + 1.2 * 1.75)),
        (2, 75, 4.4 / (2 + 1.2 * 0.625)),
    ],
)
def test_a_word_weighs_what_bm25_gives_it_with_its_default_constants(
    times: int, length: int, expected: float
) -> None:
    text = "zebra " * times + "other " * (length - times)
    assert weight(text, "zebra") == pytest.approx(expected)


def test_indices_ascend_without_repeats_as_qdrant_wants_them() -> None:
    indices, values = document_vectors(["the cat saw the dog and the bird"])
    assert indices[0] == sorted(set(indices[0]))
    assert len(indices[0]) == len(values[0])


def test_a_question_of_any_language_does_not_make_an_ingest_stem_its_words_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "the sluices of the weirs are opened and the meadows are flooded"
    document_vectors([text])
    query_vectors(["sluices weirs"])
    stemmed_again: list[str] = []
    monkeypatch.setattr(bm25, "stem_of", lambda word, _: stemmed_again.append(word))
    document_vectors([text])
    assert stemmed_again == []


def test_a_query_asks_with_one_for_each_different_word_and_its_stem() -> None:
    indices, values = query_vectors(["The zebras ZEBRAS crossing"])
    assert set(indices[0]) == {
        *map(term_id, ("zebras", "crossing")),
        *map(stem_id, ("zebra", "cross")),
    }
    assert values[0] == [1.0] * 4


def test_a_query_asks_without_the_words_of_grammar_unless_it_has_no_others() -> None:
    (asked, only), _ = query_vectors(["What is the pump of a reactor?", "What is it?"])
    assert words_among(asked) == {term_id("pump"), term_id("reactor")}
    assert words_among(only) == {term_id("what"), term_id("is"), term_id("it")}


def words_among(terms: list[int]) -> set[int]:
    return {term for term in terms if term < 1 << 31}


def test_words_of_one_stem_count_together_in_a_text_as_long_as_its_words() -> None:
    indices, values = document_vectors(["run runs running"])
    weights = dict(zip(indices[0], values[0], strict=True))
    damping = 1.2 * (1 - 0.75 + 0.75 * 3 / 150)
    assert weights[stem_id("run")] == pytest.approx(3 * 2.2 / (3 + damping))
    assert weights[term_id("runs")] == pytest.approx(1 * 2.2 / (1 + damping))


INFLECTED = {
    "ar": ("السيارات", "السيارة", "ما هي السيارات", "هذه السيارة في الطريق"),
    "cs": ("hrady", "hradu", "jaké jsou a které hrady", "na hradu a ve městě se to z v"),
    "da": ("bilerne", "bilen", "hvor er bilerne og det", "bilen er på og det som en"),
    "de": ("Pumpen", "Pumpe", "Welche Pumpen laufen?", "Die Pumpe ist an der und das nicht ein"),
    "el": ("δρόμοι", "δρόμος", "Ποιοι είναι οι δρόμοι;", "ο δρόμος"),
    "en": ("bicycles", "bicycle", "Which bicycles are there?", "A bicycle."),
    "es": (
        "ventanas",
        "ventana",
        "¿Cuáles son las ventanas?",
        "La ventana es de la casa y el que en los",
    ),
    "fi": ("talot", "talon", "missä ovat ja talot", "talon on ja ei että se hän oli"),
    "fr": (
        "chanteuses",
        "chanteuse",
        "Quelles sont les chanteuses ?",
        "La chanteuse est dans les des et le",
    ),
    "hi": ("लड़के", "लड़का", "लड़के कौन हैं", "लड़का"),
    "hu": ("asztalok", "asztal", "hol vannak és az asztalok", "az asztal és hogy nem is egy meg"),
    "it": (
        "finestre",
        "finestra",
        "Quali sono le finestre?",
        "La finestra che il non di è della per",
    ),
    "nl": ("boeken", "boek", "Welke boeken zijn er?", "Een boek is van het en de dat niet op"),
    "no": ("bilene", "bilen", "hvor er bilene og det", "bilen er på og det som en av"),
    "pl": ("domy", "domu", "Które są domy?", "w tym domu jest na i nie się do to"),
    "pt": ("janelas", "janela", "Quais são as janelas?", "A janela que não do da em um uma os"),
    "ro": (
        "casele",
        "casa",
        "Care sunt și casele?",
        "casa și de la cu pe care nu",
    ),
    "ru": ("машины", "машине", "Какие есть машины?", "в машине и не на что с по это"),
    "sv": ("bilarna", "bilen", "Vilka är bilarna?", "bilen och att det som en på är av"),
    "tr": ("evler", "evi", "Hangi evler var ve nedir?", "evi ve bir bu için ile çok ne"),
}
"""Of each language a word of a question, another form of it in a text, and both."""


@pytest.mark.parametrize("language", INFLECTED)
def test_a_question_meets_another_form_of_its_word(language: str) -> None:
    form, other, question, text = INFLECTED[language]
    ((asked,), _), ((text_terms,), _) = query_vectors([question]), document_vectors([text])
    (first,), (another,) = words(form), words(other)
    stem = stem_id(stemmed(first, language))
    assert first != another
    assert stem in asked
    assert stem in text_terms


@given(st.text(alphabet="abß 天气क्या ไทยéи.1\n"), st.text(alphabet="abß 天क्या ไéи1 "))
def test_words_and_stems_never_share_a_number_and_equal_words_always_meet(
    text: str, question: str
) -> None:
    ((asked,), _), ((text_terms,), _) = query_vectors([question]), document_vectors([text])
    assert words_among(text_terms) == {term_id(word) for word in words(text)}
    both = set(content_words(question)) & set(words(text))
    assert {term_id(word) for word in both} <= set(asked) & set(text_terms)


def test_letters_of_scripts_without_spaces_have_no_stem_and_latin_words_among_them_do() -> None:
    (indices,), _ = document_vectors(["天气很好 ภาษาไทย iPhones"])
    assert set(indices) - words_among(indices) == {stem_id("iphon")}


def test_a_text_without_words_has_an_empty_vector() -> None:
    assert document_vectors(["", " … "]) == ([[], []], [[], []])
    assert query_vectors(["?!"]) == ([[]], [[]])


@given(st.lists(st.text(alphabet="ab 1.,天ß\n"), max_size=6))
def test_a_text_weighs_the_same_alone_and_among_others(texts: list[str]) -> None:
    indices, values = document_vectors(texts)
    alone = [document_vectors([text]) for text in texts]
    assert list(zip(indices, values, strict=True)) == [(i[0], v[0]) for i, v in alone]
