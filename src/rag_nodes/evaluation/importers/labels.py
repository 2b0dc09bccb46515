"""Questions as files have them: quotes and offsets that were not yet looked up in a document."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import DatasetError, EmptyFileError, ReadError
from rag_nodes.readers.plain import decode_file
from rag_nodes.text.tokens import encodable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_HALF = "\\ud"
"""How the escape of half a surrogate pair begins."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A passage of a document as somebody wrote it down.

    Attributes:
        text: its characters; "" where only offsets or pages are given.
        document: what the file calls its document; None where it does not say.
        start: first character; None where only the text is given.
        end: behind the last character; None where only the text is given.
        pages: first and last page that it is on, counted from 1; None where the file does not say.
    """

    text: str
    document: str | None = None
    start: int | None = None
    end: int | None = None
    pages: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question of a file.

    Attributes:
        id: of the question, unique in its file.
        text: the question.
        gold: answers, each of which is enough; each one or more quotes that are all wanted.
        kind: what sort of question it is; "" where the file does not say.
        within: the documents that are searched, as the file calls them; None for all.
        draft: nobody has accepted it yet.
    """

    id: str
    text: str
    gold: tuple[tuple[Quote, ...], ...]
    kind: str = ""
    within: tuple[str, ...] | None = None
    draft: bool = False


@dataclass(frozen=True, slots=True)
class Labels:
    """The questions of a file, and its documents where it holds them.

    Attributes:
        form: name of the format, for people.
        questions: in the order of the file.
        texts: text by name of the documents that come with the questions; empty where the
            questions are about files of their own.
        left_out: how many entries of the file are no question to measure with, by reason.
    """

    form: str
    questions: tuple[Labelled, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


def read_text(path: Path) -> str:
    """The text of a file of labels.

    Raises:
        DatasetError: it cannot be read, or is no text in UTF-8.
    """
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise DatasetError(
            f"{path} cannot be read ({error}); name a file of questions in UTF-8"
        ) from error


def read_any_text(path: Path) -> tuple[str, str]:
    """The text of a sheet in whatever encoding a spreadsheet saved it, and what was guessed.

    Raises:
        DatasetError: it cannot be read, or is no text.
    """
    try:
        text, guessed = decode_file(path)
    except EmptyFileError:
        return "", ""
    except (OSError, ReadError) as error:
        raise DatasetError(f"{path} cannot be read ({error}); save the sheet as CSV") from error
    return text, "; ".join(guessed)


def read_json(path: Path) -> Any:
    """The content of a JSON file, or of one of JSON lines as a list.

    Raises:
        DatasetError: it cannot be read or is no JSON.
    """
    text = read_text(path)
    if path.suffix.lower() == ".jsonl":
        return list(read_lines(path, text))
    return _parsed(text, str(path))


def read_yaml(path: Path) -> Any:
    """The content of a YAML file.

    Raises:
        DatasetError: it cannot be read, is no YAML, or has aliases: a few aliases of aliases are a
            list that no memory holds.
    """
    import yaml  # comes with llama-index-core

    text = read_text(path)
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise DatasetError(f"{path} has aliases (*name); write out what they stand for")
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise DatasetError(f"{path} is not valid YAML: {error}") from error


def read_lines(path: Path, text: str) -> Iterable[Any]:
    """The objects of a file of JSON lines; blank lines are passed over.

    Raises:
        DatasetError: a line is no JSON.
    """
    # Other characters that end a line may stand in a JSON text as they are.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _parsed(line, f"{path}, line {number}")


def _parsed(text: str, where: str) -> Any:
    """JSON as plain data; halves of surrogate pairs, which no file can hold, become U+FFFD."""
    try:
        plain = json.loads(text)
        if _HALF in text.lower():
            plain = json.loads(encodable(json.dumps(plain, ensure_ascii=False)))
    except RecursionError:
        raise DatasetError(f"{where} is nested too deeply; a list of questions is flat") from None
    except ValueError as error:
        raise DatasetError(f"{where} is not valid JSON: {error}") from error
    return plain


def file_inside(folder: Path, name: str) -> Path | None:
    """The file of a name that a set of questions gives; None where none of that name lies inside.

    Args:
        folder: where the texts lie that belong to the questions.
        name: as the questions have it, which may be a stranger's.
    """
    try:
        root = folder.resolve()
        found = (root / name).resolve()
        return found if found.is_relative_to(root) and found.is_file() else None
    except (OSError, ValueError):  # no name that a file can have
        return None


def text_of(value: object) -> str:
    """A value that should be a text, without blank space around it; "" where it is none."""
    return encodable(value.strip()) if isinstance(value, str) else ""


def number_of(value: object) -> int | None:
    """A value that should be a whole number; None where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
