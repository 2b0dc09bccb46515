"""A picture of a page in, its words out, by a function or a program that the user names.

The program is run without a shell, and its output is taken for text of a stranger: what does not
fit the picture is left out.
"""

from __future__ import annotations

import os
import shlex
import shutil
import struct
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from string import Formatter
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.core.errors import ConfigurationError, OcrError, OcrProgramMissingError

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE_SECONDS = 60.0
"""Seconds after which the program is killed that reads a page."""
MAX_WORDS = 20_000
"""Words of a page that are kept."""
MAX_OUTPUT_BYTES = 16 * 1024**2
"""Bytes of the program's output that are looked at."""
MAX_LETTERS = 200
"""Letters of a word that are kept."""

_PLACEHOLDERS = {"png", "dpi"}
_EXAMPLE = "tesseract {png} stdout -l eng --dpi {dpi} --psm 1 tsv"
_WORD = "5"
"""Level of the rows of tesseract's table that are words."""
_COLUMNS = (
    *("level", "block_num", "par_num", "left", "top", "width", "height", "conf"),
    "text",
)  # fmt: skip


class OcrWord(NamedTuple):
    """A word of a picture of a page, in pixels from its upper left corner.

    Attributes:
        text: the word.
        left: left edge.
        top: upper edge.
        right: right edge.
        bottom: lower edge.
        confidence: how sure the recognition is, from 0 to 100.
        block: number that the words of one paragraph share, in any order.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    confidence: float = 100.0
    block: int = 0


OcrFunction = Callable[[bytes, int, int, int], Sequence[OcrWord]]
"""Returns the words of a PNG picture in reading order; gets picture, width, height and dpi."""
Ocr = str | OcrFunction
"""A function, or a command such as `tesseract {png} stdout --dpi {dpi} tsv`."""


def check_ocr(ocr: Ocr) -> None:
    """Refuse what is neither a function nor a command with its placeholders.

    Raises:
        ConfigurationError: it cannot be run.
    """
    if callable(ocr):
        return
    try:
        names = [
            name if not (spec or conversion) else f"{name}:"
            for part in shlex.split(ocr)
            for _, name, spec, conversion in Formatter().parse(part)
            if name is not None
        ]
    except ValueError as error:
        raise ConfigurationError(f"ocr: {error}; write it as '{_EXAMPLE}'") from None
    if "png" not in names or not _PLACEHOLDERS.issuperset(names):
        raise ConfigurationError(
            "ocr: the command needs the placeholder {png} and may have {dpi}, no other; "
            f"write it as '{_EXAMPLE}'"
        )


def read_words(path: Path, png: bytes, dpi: int, ocr: Ocr) -> tuple[tuple[int, int], list[OcrWord]]:
    """Return width and height of a picture, and its words.

    Args:
        path: file that the page is of, for errors.
        png: the picture.
        dpi: its pixels per inch.
        ocr: what reads it.

    Raises:
        OcrError: it fails, takes too long or gives no words.
        OcrProgramMissingError: the program is not installed.
    """
    width, height = struct.unpack(">II", png[16:24])  # where each PNG file has them
    if callable(ocr):
        try:
            words = [OcrWord(*word) for word in ocr(png, width, height, dpi)]
            return (width, height), list(_fitting(words, width, height))
        except Exception as error:
            reason = f"the OCR function failed with {type(error).__name__}: {error}"
            raise OcrError(path, reason, "correct the function that you passed as ocr=") from error
    words = parse_tsv(path, _output_of(path, png, dpi, ocr), ocr)
    return (width, height), list(_fitting(words, width, height))


def _output_of(path: Path, png: bytes, dpi: int, command: str) -> str:
    """Return what the program writes about a picture."""
    with TemporaryDirectory(prefix="rag-nodes-ocr-") as folder:
        picture, output, errors = (Path(folder) / name for name in ("page.png", "out", "errors"))
        picture.write_bytes(png)
        words = [part.format(png=picture, dpi=dpi) for part in shlex.split(command)]
        if shutil.which(words[0]) is None:
            raise OcrProgramMissingError(path, f"the OCR program {words[0]!r} is not installed")
        with output.open("wb") as out, errors.open("wb") as err:
            # Files, because a pipe stays open while a process that the program started has it.
            try:
                ended = subprocess.run(  # noqa: S603 - the user names the program
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    timeout=PAGE_SECONDS,
                    # Threads of tesseract wait for each other in loops.
                    env={"OMP_THREAD_LIMIT": "1", **os.environ},
                    check=False,
                )
            except subprocess.TimeoutExpired:
                reason = f"the OCR program takes longer than {PAGE_SECONDS:.4g} s for a page"
                raise OcrError(path, reason, _try_it(command)) from None
            except OSError as error:
                reason = f"the OCR program cannot be started: {error.strerror or error}"
                raise OcrError(path, reason, _try_it(command)) from error
        if ended.returncode:
            said = " ".join(_head(errors, 1000).split())[:200]
            reason = f"the OCR program ended with exit code {ended.returncode}: {said or 'silent'}"
            raise OcrError(path, reason, _try_it(command))
        return _head(output, MAX_OUTPUT_BYTES)


def _head(path: Path, size: int) -> str:
    with path.open("rb") as file:
        return file.read(size).decode(errors="replace")


def _try_it(command: str) -> str:
    return f"try it on a picture of a page: {command}"


def parse_tsv(path: Path, text: str, command: str) -> list[OcrWord]:
    """Return the words of a table as tesseract writes it; rows that are damaged are left out.

    Raises:
        OcrError: it is no such table.
    """
    header, *rows = text.split("\n")
    names = header.strip("\r\ufeff").split("\t")
    if not set(_COLUMNS).issubset(names):
        reason = "the OCR program writes no table with the columns of tesseract's TSV"
        raise OcrError(path, reason, f"write the command as '{_EXAMPLE}'; it is: {command}")
    words: list[OcrWord] = []
    for row in rows:
        cells = dict(zip(names, row.strip("\r").split("\t"), strict=False))
        if len(cells) < len(names) or cells["level"] != _WORD:
            continue
        try:
            left, top, width, height, confidence = (
                float(cells[name]) for name in ("left", "top", "width", "height", "conf")
            )
            block = int(cells["block_num"]) * MAX_WORDS + int(cells["par_num"])
        except ValueError:
            continue
        word = cells["text"]
        words.append(OcrWord(word, left, top, left + width, top + height, confidence, block))
    return words


def _fitting(words: Sequence[OcrWord], width: int, height: int) -> Iterator[OcrWord]:
    """Yield the words that have letters and a box in the picture."""
    for word in words[:MAX_WORDS]:
        text = " ".join(str(word.text).split())[:MAX_LETTERS]
        edges = [float(edge) for edge in word[1:5]]
        left, right = (min(max(edge, 0.0), width) for edge in edges[::2])
        top, bottom = (min(max(edge, 0.0), height) for edge in edges[1::2])
        if text and left < right and top < bottom:  # what is no number is never less
            yield word._replace(text=text, left=left, top=top, right=right, bottom=bottom)
