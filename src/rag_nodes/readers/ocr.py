"""A picture of a page in, its words out, by a function or a program that the user names.

The program is run without a shell, and its output is treated as untrusted text: words that do not
fit the picture are left out, and messages that quote the program show no keys.
"""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from string import Formatter
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.core.errors import ConfigurationError, OcrError, OcrProgramMissingError
from rag_nodes.core.keys import kind_of, trace_of, without_keys

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE_SECONDS = 60.0
"""Seconds after which a program that reads a page is killed."""
MAX_WORDS = 20_000
"""Words that a page may have."""
MAX_OUTPUT_BYTES = 16 * 1024**2
"""Bytes that a program may write about a page."""

_POLL_SECONDS = 0.1
"""Seconds between two looks at how much a program has written."""
_QUOTED = 200
"""Characters of a program's error output that a message quotes."""
_OWN_VARIABLES = "RAG_NODES_"
"""Prefix of environment variables that the program does not get, because they may hold keys."""
_PLACEHOLDERS = {"png", "dpi"}
_EXAMPLE = "tesseract {png} stdout -l eng --dpi {dpi} --psm 1 tsv"
_WORD = "5"
"""Level of the rows of tesseract's table that are words."""
_NUMBERS = ("left", "top", "width", "height", "conf", "block_num", "par_num")
_COLUMNS = {"level", *_NUMBERS, "text"}

_log = logging.getLogger(__name__)


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
    if not isinstance(ocr, str):
        kind = type(ocr).__name__
        raise ConfigurationError(f"ocr: {kind} is not a function; write a command as '{_EXAMPLE}'")
    try:
        parts = [[*Formatter().parse(part)] for part in shlex.split(ocr)]
    except ValueError as error:
        raise ConfigurationError(f"ocr: {error}; write it as '{_EXAMPLE}'") from None
    fields = [[field for field in part if field[1] is not None] for part in parts]
    names = {name if not (spec or kind) else "" for part in fields for _, name, spec, kind in part}
    has_program = bool(parts and parts[0] and not fields[0])
    if not has_program or "png" not in names or not names <= _PLACEHOLDERS:
        raise ConfigurationError(
            "ocr: the command needs a program and then the placeholder {png}, and may have {dpi}, "
            f"no other (double literal braces); write it as '{_EXAMPLE}'"
        )


def read_words(path: Path, png: bytes, dpi: int, ocr: Ocr) -> tuple[tuple[int, int], list[OcrWord]]:
    """Return width and height of a picture, and its words.

    Args:
        path: PDF file of the page, for errors.
        png: the picture.
        dpi: its pixels per inch.
        ocr: the function or command that reads it.

    Raises:
        OcrError: it fails, takes too long, or gives too much or something other than words.
        OcrProgramMissingError: the program is not installed.
    """
    width, height = struct.unpack(">II", png[16:24])  # where each PNG file has them
    if callable(ocr):
        words = _returned(path, ocr, png, width, height, dpi)
    else:
        words = parse_tsv(path, _output_of(path, png, dpi, ocr), ocr)
    if len(words) > MAX_WORDS:
        reason = f"OCR finds {len(words):,} words on a page, over the limit of {MAX_WORDS:,}"
        raise OcrError(path, reason, "check that it reads one page at a time")
    return (width, height), list(_fitting(words, width, height))


def _returned(path: Path, function: OcrFunction, *picture: Any) -> list[OcrWord]:
    """Return the words that the user's function gives for a picture."""
    try:
        returned: Any = function(*picture)
        words = [*returned] if isinstance(returned, Iterable) else [returned]
    except Exception as error:
        _log.info("%s: the OCR function failed: %s", path, trace_of(error))
        reason = f"the OCR function failed with {kind_of(error)}"
        raise OcrError(path, reason, "correct the function that you passed as ocr=") from error
    try:
        return [_checked(OcrWord(*word)) for word in words]
    except (TypeError, ValueError, OverflowError) as error:
        reason = "the OCR function returned something other than a list of words"
        remedy = "return a list of OcrWord(text, left, top, right, bottom), in pixels"
        raise OcrError(path, reason, remedy) from error


def _checked(word: OcrWord) -> OcrWord:
    """Return a word of the user's function with plain numbers; raises TypeError, ValueError."""
    if not isinstance(word.text, str):
        raise TypeError
    left, top, right, bottom, confidence = map(float, word[1:6])
    return OcrWord(word.text, left, top, right, bottom, confidence, int(word.block))


def _output_of(path: Path, png: bytes, dpi: int, command: str) -> str:
    """Return what the program writes about a picture."""
    with TemporaryDirectory(prefix="rag-nodes-ocr-") as folder:
        # Files, because a pipe stays open while a process that the program started has it.
        picture, output, errors = (Path(folder) / name for name in ("page.png", "out", "errors"))
        picture.write_bytes(png)
        words = [part.format(png=picture, dpi=dpi) for part in shlex.split(command)]
        if shutil.which(words[0]) is None:
            reason = f"there is no program '{words[0]}' for OCR that can be run"
            raise OcrProgramMissingError(path, reason)
        kept = {k: value for k, value in os.environ.items() if not k.startswith(_OWN_VARIABLES)}
        with output.open("wb") as out, errors.open("wb") as err:
            try:
                process = subprocess.Popen(  # noqa: S603 - the user names the program
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    # Threads of tesseract wait for each other in loops.
                    env={"OMP_THREAD_LIMIT": "1", **kept},
                )
            except OSError as error:
                reason = f"the OCR program cannot be started: {error.strerror or error}"
                raise OcrError(path, reason, _try_it(command)) from error
            reason = _waited_for(process, (output, errors))
        if not reason and process.returncode:
            message = without_keys(_text_of(errors), most=_QUOTED)
            reason = f"ended with exit code {process.returncode}: {message or 'it wrote no error'}"
        if reason:
            raise OcrError(path, f"the OCR program {reason}", _try_it(command))
        return _text_of(output)


def _waited_for(process: subprocess.Popen[bytes], written: Iterable[Path]) -> str:
    """Wait for a program; return why it was killed, or "" if it ended."""
    until = time.monotonic() + PAGE_SECONDS
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_SECONDS)
            if any(path.stat().st_size > MAX_OUTPUT_BYTES for path in written):
                return f"writes more than {MAX_OUTPUT_BYTES // 1024**2} MiB about a page"
            if process.returncode is not None:
                return ""
            if time.monotonic() > until:
                return f"takes longer than {PAGE_SECONDS:.4g} s for a page"
    finally:
        if process.returncode is None:
            _kill(process.pid)
            process.wait()


def _kill(process_id: int) -> None:
    """Kill a process and, on Linux, those that it has started: scripts start the real program."""
    started = Path("/proc").glob(f"{process_id}/task/*/children")
    children: list[str] = []
    with suppress(OSError):  # a thread of it has ended meanwhile
        children = [child for threads in started for child in threads.read_text().split()]
    with suppress(OSError):
        os.kill(process_id, getattr(signal, "SIGKILL", signal.SIGTERM))
    for child in children:
        _kill(int(child))


def _text_of(path: Path) -> str:
    return path.read_bytes().decode(errors="replace")


def _try_it(command: str) -> str:
    return f"try it on a picture of a page: {without_keys(command)}"


def parse_tsv(path: Path, text: str, command: str) -> list[OcrWord]:
    """Return the words of a table as tesseract writes it; rows that are damaged are left out.

    Raises:
        OcrError: it is no such table.
    """
    header, *rows = text.split("\n")
    names = header.strip("\r\ufeff").split("\t")
    if not _COLUMNS.issubset(names):
        reason = "the OCR program writes no table with the columns of tesseract's TSV"
        remedy = f"write the command as '{_EXAMPLE}'; it is: {without_keys(command)}"
        raise OcrError(path, reason, remedy)
    words: list[OcrWord] = []
    for row in rows:
        cells = dict(zip(names, row.strip("\r").split("\t", len(names) - 1), strict=False))
        if len(cells) < len(names) or cells["level"] != _WORD:
            continue
        try:
            left, top, width, height, confidence, *numbers = (float(cells[n]) for n in _NUMBERS)
            block, paragraph = map(int, numbers)
        except (ValueError, OverflowError):
            continue
        edges = left, top, left + width, top + height
        words.append(OcrWord(cells["text"], *edges, confidence, block * MAX_WORDS + paragraph))
    return words


def _fitting(words: Sequence[OcrWord], width: int, height: int) -> Iterator[OcrWord]:
    """Yield the words that have letters and a box in the picture."""
    for word in words:
        text = " ".join(word.text.split())
        left, right = (min(max(edge, 0.0), width) for edge in (word.left, word.right))
        top, bottom = (min(max(edge, 0.0), height) for edge in (word.top, word.bottom))
        if text and left < right and top < bottom:  # NaN is never less
            yield word._replace(text=text, left=left, top=top, right=right, bottom=bottom)
