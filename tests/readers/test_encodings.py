"""Encodings are recognised by letters and language, unless the user names them."""
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


def read_named(path: Path, content: bytes, *encoding: str) -> tuple[str, list[str]]:
    path.write_bytes(content)
    document = read(path, limits=Limits(encoding=encoding))
    return document.text, document.metadata.get(keys.READ_WARNINGS, [])


def text_of(tmp_path: Path, content: bytes) -> tuple[str, list[str]]:
    return read_named(tmp_path / "note.txt", content)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param("Größe — 尺寸\r\n".encode(), "Größe — 尺寸\r\n", id="utf-8, line ends kept"),
        pytest.param(b"\xef\xbb\xbfGr\xc3\xb6\xc3\x9fe", "Größe", id="utf-8 with mark"),
        pytest.param("\ufeffGröße 尺寸".encode("utf-16-le"), "Größe 尺寸", id="utf-16-le"),
        pytest.param("\ufeffGröße 尺寸".encode("utf-16-be"), "Größe 尺寸", id="utf-16-be"),
        pytest.param("\ufeffGröße 尺寸".encode("utf-32-le"), "Größe 尺寸", id="utf-32-le"),
    ],
)
def test_unicode_files_are_read_exactly_and_without_a_warning(
    tmp_path: Path, content: bytes, text: str
) -> None:
    assert text_of(tmp_path, content) == (text, [])


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
        # One letter far behind the start is enough.
        pytest.param("A plain line of the log.\n" * 20_000 + CZECH, "cp1250", id="a long log"),
        # Letters in the place of marks are letters.
        ("Das Boot ist schön, die Römer kommen.", "cp850"),
        ("El avión, la razón.", "mac-roman"),
        # A name in a table of numbers is Western European.
        ("1;Müller;3,50\n2;Meier;2,00\n", "cp1252"),
        ("id;name\n1;café\n2;tea\n" * 3, "cp1252"),
        ("Zürich;Genève\n", "cp1252"),
        # Marks and signs alone are no letters of another language.
        ("It’s a test, he said, and the owner’s manual isn’t here.", "cp1252"),
        ("“Yes”, she said – then she left…", "cp1252"),
        ("Ropes—and anchors—are kept below.", "cp1252"),
        ("item,price\ntea,5 €\nmilk,3 £\n", "cp1252"),
        ("Keep at 20 °C ± 2, in ½ cup on 3 m², see § 4 (5 µm).", "cp1252"),
        ("• Rope\n• Horn™ © 2026", "cp1252"),
    ],
)
def test_a_code_page_is_recognised(tmp_path: Path, text: str, encoding: str) -> None:
    assert text_of(tmp_path, text.encode(encoding))[0] == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Die Größe der Tür beträgt zwölf Fuß: „überraschend“ genug für Käthe. " * 4, "cp1252"),
        ("Теплица стоит за домом, и каждое утро мы открываем окна и двери. " * 6, "cp1251"),
        ("A plain note from an old program, nothing more. ", "utf-16-le"),
    ],
)
def test_an_encoding_that_is_guessed_is_named_in_a_warning(
    tmp_path: Path, text: str, encoding: str
) -> None:
    read_as, [warning] = text_of(tmp_path, text.encode(encoding))
    assert read_as == text
    assert encoding in warning


@pytest.mark.parametrize("stray", [0x80, 0x98, 0xA9, 0xB0])
def test_a_stray_byte_makes_no_other_script_of_english_text(tmp_path: Path, stray: int) -> None:
    prose = b"The pump starts when the soil is dry and stops at noon. " * 6
    text, [warning] = text_of(tmp_path, prose + b"caf" + bytes([stray]) + b" ok " + prose)
    assert f"caf{bytes([stray]).decode('cp1252')} ok" in text
    assert warning.startswith("read as cp1252 (guessed: the file is not valid UTF-8)")


def test_a_few_broken_bytes_do_not_turn_utf_8_into_something_else(tmp_path: Path) -> None:
    content = ("Grüße aus Köln, schöne Grüße an alle Gärtner. " * 10).encode() + b"\xff end"
    text, warnings = text_of(tmp_path, content)
    assert text.startswith("Grüße aus Köln")
    assert text.endswith("\ufffd end")
    assert "1 damaged utf-8" in warnings[0]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Größe ".encode() + b"\xff", "Größe \ufffd"),
        ("Привет".encode() + b"\xd0", "Привет\ufffd"),
        (b"An ordinary English sentence with one stray byte \xff in it.", "ÿ in it."),
        (b"The caf\xe9 is open.", "The café is open."),
    ],
)
def test_one_bad_byte_in_a_short_text_does_not_change_its_script(
    tmp_path: Path, content: bytes, text: str
) -> None:
    read_as, warnings = text_of(tmp_path, content)
    assert read_as.endswith(text)
    assert len(warnings) == 1


def test_nul_characters_are_replaced_without_moving_an_offset(tmp_path: Path) -> None:
    original = "first part\x00second part" + " and so on" * 20
    text, _ = text_of(tmp_path, original.encode())
    assert text == original.replace("\x00", "\ufffd")


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
    assert read_named(tmp_path / name, content, *encoding) == (text, [])


@pytest.mark.parametrize("content", ["łódź".encode(), "\ufeffłódź".encode("utf-16")])
def test_unicode_needs_no_name(tmp_path: Path, content: bytes) -> None:
    assert read_named(tmp_path / "a.txt", content, "cp1250")[0].strip("\ufeff") == "łódź"


def test_a_pattern_with_a_folder_is_compared_with_the_end_of_the_path(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    limits = ("old/*.txt=cp1250",)
    assert read_named(tmp_path / "old" / "a.txt", b"\xb3\xf3d\x9f", *limits)[0] == "łódź"
    assert read_named(tmp_path / "a.txt", b"\xb3\xf3d\x9f", *limits)[0] != "łódź"


def test_bytes_that_a_named_encoding_does_not_have_are_counted(tmp_path: Path) -> None:
    text, [warning] = read_named(tmp_path / "a.txt", b"tea\x81 \xb3", "cp1250")
    assert text == "tea\ufffd ł"
    assert warning == "1 damaged cp1250 sequences were replaced by U+FFFD"


@pytest.mark.parametrize("wrong", ["cp1520", "*.csv=", "*.csv=base64", "", "x\0", "idna"])
def test_an_unknown_encoding_is_refused_at_once(wrong: str) -> None:
    with pytest.raises(ConfigurationError, match="encoding: Python knows none called"):
        Limits(encoding=wrong)
