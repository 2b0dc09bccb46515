"""Encodings of text files are recognised, and guesses are named in a warning."""

from pathlib import Path

import pytest
from tests.readers.conftest import write

from rag_nodes.core import metadata as keys
from rag_nodes.readers import read


def text_of(tmp_path: Path, content: bytes) -> tuple[str, list[str]]:
    document = read(write(tmp_path / "note.txt", content))
    return document.text, document.metadata.get(keys.READ_WARNINGS, [])


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


def test_an_old_western_encoding_is_guessed_and_named_in_a_warning(tmp_path: Path) -> None:
    original = "Die Größe der Tür beträgt zwölf Fuß: „überraschend“ genug für Käthe. " * 4
    text, warnings = text_of(tmp_path, original.encode("cp1252"))
    assert text == original
    assert [warning for warning in warnings if "cp1252" in warning] == warnings != []


@pytest.mark.parametrize("stray", [0x80, 0x98, 0xA9, 0xB0])
def test_a_stray_byte_makes_no_other_script_of_english_text(tmp_path: Path, stray: int) -> None:
    prose = b"The pump starts when the soil is dry and stops at noon. " * 6
    path = tmp_path / "note.txt"
    path.write_bytes(prose + b"caf" + bytes([stray]) + b" ok " + prose)
    document = read(path)
    assert f"caf{bytes([stray]).decode('cp1252')} ok" in document.text
    [warning] = document.metadata[keys.READ_WARNINGS]
    assert warning.startswith("read as cp1252 (guessed: the file is not valid UTF-8)")


def test_a_cyrillic_encoding_is_guessed_and_named_in_a_warning(tmp_path: Path) -> None:
    original = "Теплица стоит за домом, и каждое утро мы открываем окна и двери. " * 6
    text, warnings = text_of(tmp_path, original.encode("cp1251"))
    assert text == original
    assert "guessed" in warnings[0]


def test_utf_16_without_a_mark_is_recognised(tmp_path: Path) -> None:
    original = "A plain note from an old program, nothing more. "
    text, warnings = text_of(tmp_path, original.encode("utf-16-le"))
    assert text == original
    assert "utf-16-le" in warnings[0]


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
