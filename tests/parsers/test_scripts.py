"""Presets sized in characters hold as many tokens in any script, and say so (P13)."""
# ruff: noqa: RUF001 -- letters that look like Latin ones are the point

import pytest
from llama_index.core.schema import Document

from rag_nodes.core import metadata as keys
from rag_nodes.parsers import (
    FixedSizeNodeParser,
    RecursiveNodeParser,
    SentenceNodeParser,
    get_parser,
)

SIZED_IN_CHARACTERS = {"fixed": 1000, "recursive": 1000, "pdf-qa": 500}
TEXTS = {
    "Chinese": "泵在夜间运行。土壤干燥时，水箱会自动加满。请每周清洗过滤器一次。" * 200,
    "Hindi": "पंप रात में चलता है। मिट्टी सूखने पर टंकी भर जाती है। छन्नी हर सप्ताह धोएँ। " * 100,
    "Thai": "ปั๊มทำงานตอนกลางคืน เมื่อดินแห้งถังจะเติมน้ำเอง ล้างตัวกรองทุกสัปดาห์ " * 100,
    "Greek": "Η αντλία λειτουργεί τη νύχτα. Το φίλτρο καθαρίζεται κάθε εβδομάδα. " * 100,
}
LATIN = {
    "English": "The pump runs at night. The tank fills when the soil is dry. " * 100,
    "German": "Die Pumpe läuft nachts. Der Behälter füllt sich bei Trockenheit. " * 100,
    "Vietnamese": "Máy bơm chạy vào ban đêm. Bể nước đầy khi đất khô. " * 100,
    "numbers": "2026-11-22 13:37 404 0x1f 9,99 € " * 200,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", SIZED_IN_CHARACTERS)
def test_p13_a_size_in_characters_is_about_as_many_tokens_in_every_script(
    name: str, text: str
) -> None:
    size = SIZED_IN_CHARACTERS[name]
    nodes = get_parser(name)([Document(text=text)])
    counts = [node.metadata[keys.TOKEN_COUNT] for node in nodes]
    assert max(counts) <= 1.2 * size / 4
    assert sum(counts) / len(counts) >= 0.5 * size / 4
    (stated,) = {node.metadata[keys.SCALED_SIZE] for node in nodes}
    assert stated < size
    assert max(len(node.get_content()) for node in nodes) <= stated  # L4


@pytest.mark.parametrize("text", LATIN.values(), ids=LATIN)
@pytest.mark.parametrize("name", SIZED_IN_CHARACTERS)
def test_p13_latin_text_is_split_at_the_sizes_of_the_source_documents(name: str, text: str) -> None:
    scaled = get_parser(name)([Document(text=text)])
    plain = get_parser(name, scale_by_script=False)([Document(text=text)])
    assert [node.get_content() for node in scaled] == [node.get_content() for node in plain]
    assert not [node for node in scaled if keys.SCALED_SIZE in node.metadata]


@pytest.mark.parametrize("parser", [FixedSizeNodeParser, RecursiveNodeParser, SentenceNodeParser])
def test_p13_a_size_given_to_the_class_means_characters(
    parser: type[FixedSizeNodeParser | RecursiveNodeParser | SentenceNodeParser],
) -> None:
    chunks = parser(unit="characters", chunk_size=300, chunk_overlap=0).split_text(TEXTS["Chinese"])
    assert 200 < max(map(len, chunks)) <= 300


def test_p13_a_size_in_tokens_or_sentences_is_never_scaled() -> None:
    for options in ({"unit": "tokens", "chunk_size": 60}, {"unit": "sentences"}):
        parser = SentenceNodeParser(scale_by_script=True, **options)
        nodes = parser([Document(text=TEXTS["Chinese"])])
        assert not [node for node in nodes if keys.SCALED_SIZE in node.metadata]


@pytest.mark.parametrize(
    ("sentence", "is_scaled"),
    [("pump αντλ ", False), ("pumps αντλ ", False), ("pump αντλί ", True)],
    ids=["half of the letters", "more than half", "less than half"],
)
def test_p13_text_is_latin_if_at_least_half_of_its_letters_are(
    sentence: str, is_scaled: bool
) -> None:
    nodes = get_parser("fixed")([Document(text=sentence * 500)])
    assert all((keys.SCALED_SIZE in node.metadata) == is_scaled for node in nodes)


def test_p13_no_size_is_raised_where_a_token_has_many_characters() -> None:
    text = ("Η αντλία.\n" + "=" * 400 + "\n") * 30
    nodes = get_parser("fixed")([Document(text=text)])
    assert max(len(node.get_content()) for node in nodes) == 1000
    assert not [node for node in nodes if keys.SCALED_SIZE in node.metadata]


def test_p13_a_quarter_of_latin_letters_makes_no_latin_text() -> None:
    text = TEXTS["Chinese"].replace("泵在夜间运行。", "The ABC 泵在夜间运行。")
    letters = [character for character in text if character.isalpha()]
    assert 0.1 < sum(map(str.isascii, letters)) / len(letters) < 0.3
    nodes = get_parser("fixed")([Document(text=text)])
    assert all(node.metadata[keys.SCALED_SIZE] < 600 for node in nodes)
