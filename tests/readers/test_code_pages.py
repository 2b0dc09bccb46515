"""Code pages are recognised by letters and language, unless the user names them."""
# ruff: noqa: RUF001 -- letters of other alphabets are meant

from pathlib import Path

import pytest

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.readers import Limits, read

CZECH = "Loď odplouvá v devět hodin. Lístek stojí sedm korun, děti jezdí zdarma. Přijďte včas."
TURKISH = "Vapur saat dokuzda kalkar. Bilet yedi kron, çocuklar için ücretsiz. Lütfen erken gelin."
UKRAINIAN = "Пором відходить о дев'ятій годині. Квиток коштує сім крон, діти їдуть безкоштовно."
LATVIAN = (
    "Prāmis atiet deviņos. Biļete maksā septiņas kronas, bērniem bez maksas. Lūdzu nekavējieties."
)
GREEK = "Το πλοίο φεύγει στις εννέα. Το εισιτήριο κοστίζει επτά κορώνες, τα παιδιά δωρεάν."
SPANISH = (
    "El barco sale a las nueve de la mañana. Los niños viajan gratis; ¿quién más? Año tras año."
)
JAPANESE = "フェリーは九時に出発します。切符は七クローネです。"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (CZECH, "iso8859-2"),
        (CZECH, "cp852"),
        (CZECH, "mac-latin2"),
        (TURKISH, "cp1254"),
        (TURKISH, "cp857"),
        (UKRAINIAN, "koi8-u"),
        (UKRAINIAN, "cp1125"),
        (LATVIAN, "cp1257"),
        (LATVIAN, "cp775"),
        (GREEK, "cp737"),
        (SPANISH, "cp1252"),
        (SPANISH, "cp850"),
        (SPANISH, "mac-roman"),
        (JAPANESE, "iso2022_jp"),
    ],
)
def test_a_code_page_is_recognised(tmp_path: Path, text: str, encoding: str) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(text.encode(encoding))
    assert read(path).text == text


@pytest.mark.parametrize(
    "rows",
    ["1;Müller;3,50\n2;Meier;2,00\n", "id;name\n1;café\n2;tea\n" * 3, "Zürich;Genève\n"],
)
def test_a_name_in_a_table_of_numbers_is_western_european(tmp_path: Path, rows: str) -> None:
    path = tmp_path / "table.txt"
    path.write_bytes(rows.encode("cp1252"))
    assert read(path).text == rows


@pytest.mark.parametrize(
    "text",
    [
        "It’s a test, he said, and the owner’s manual isn’t here.",
        "“Yes”, she said – then she left…",
        "Ropes—and anchors—are kept below.",
        "item,price\ntea,5 €\nmilk,3 £\n",
        "Keep at 20 °C ± 2, in ½ cup on 3 m², see § 4 (5 µm).",
        "• Rope\n• Horn™ © 2026",
    ],
)
def test_marks_and_signs_alone_are_no_letters_of_another_language(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(text.encode("cp1252"))
    assert read(path).text == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("Das Boot ist schön, die Römer kommen.", "cp850"), ("El avión, la razón.", "mac-roman")],
)
def test_letters_in_the_place_of_marks_are_letters(
    tmp_path: Path, text: str, encoding: str
) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(text.encode(encoding))
    assert read(path).text == text


def test_a_letter_far_behind_the_start_is_enough_to_recognise_a_code_page(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    text = "A plain line of the log.\n" * 20_000 + CZECH
    path.write_bytes(text.encode("cp1250"))
    assert read(path).text == text


def named(path: Path, content: bytes, *encoding: str) -> tuple[str, list[str]]:
    path.write_bytes(content)
    document = read(path, limits=Limits(encoding=encoding))
    return document.text, document.metadata.get(keys.READ_WARNINGS, [])


@pytest.mark.parametrize(
    ("name", "content", "encoding", "text"),
    [
        ("a.txt", b"\xb3\xf3d\x9f", ("cp1250",), "łódź"),
        ("a.md", b"\xb3\xf3d\x9f", ("Windows-1250",), "łódź"),
        (
            "a.csv",
            b"town\nk\xf6ln\nb\xb3a\n",
            ("*.txt=cp1252", "*.csv=cp1250"),
            "town: köln\n\ntown: bła",
        ),
        ("a.txt", b"\xb3\xf3d\x9f", ("cp850", "*.txt = cp1250"), "łódź"),
        ("a.txt", b"\xb3\xf3d\x9f", ("*.txt=cp850", "cp1250"), "łódź"),
        ("a.html", b"<meta charset=cp1252><p>\xb3\xf3d\x9f", ("cp1250",), "łódź"),
        ("a.txt", b"~{<:Ky~}", ("hz",), "己所"),
    ],
)
def test_a_named_encoding_is_no_guess(
    tmp_path: Path, name: str, content: bytes, encoding: tuple[str, ...], text: str
) -> None:
    assert named(tmp_path / name, content, *encoding) == (text, [])


@pytest.mark.parametrize("content", ["łódź".encode(), "\ufeffłódź".encode("utf-16")])
def test_unicode_needs_no_name(tmp_path: Path, content: bytes) -> None:
    assert named(tmp_path / "a.txt", content, "cp1250")[0].strip("\ufeff") == "łódź"


def test_a_pattern_with_a_folder_is_compared_with_the_end_of_the_path(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    limits = ("old/*.txt=cp1250",)
    assert named(tmp_path / "old" / "a.txt", b"\xb3\xf3d\x9f", *limits)[0] == "łódź"
    assert named(tmp_path / "a.txt", b"\xb3\xf3d\x9f", *limits)[0] != "łódź"


def test_bytes_that_a_named_encoding_does_not_have_are_counted(tmp_path: Path) -> None:
    text, [warning] = named(tmp_path / "a.txt", b"tea\x81 \xb3", "cp1250")
    assert text == "tea\ufffd ł"
    assert warning == "1 damaged cp1250 sequences were replaced by U+FFFD"


@pytest.mark.parametrize("wrong", ["cp1520", "*.csv=", "*.csv=base64", "", "x\0", "idna"])
def test_an_unknown_encoding_is_refused_at_once(wrong: str) -> None:
    with pytest.raises(ConfigurationError, match="encoding: Python knows none called"):
        Limits(encoding=wrong)
