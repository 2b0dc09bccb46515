"""Texts to measure on: made of the example corpus, of any size, never the same page twice."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from measuring import MEGABYTE

CORPUS = Path(__file__).parents[1] / "examples" / "corpus"
KINDS = ("plain", "markdown", "pdf")
_MIXED = ("plain", "markdown")
_BLOCK = 2 * MEGABYTE
"""Characters of text that paragraphs are taken from, of each kind."""
_PER_FOLDER = 500


def text_of(kind: str, characters: int) -> str:
    """About `characters` characters of one kind of text.

    Paragraphs are those of the example corpus in random order, with numbers strewn in so that
    neither a tokenizer's cache nor a parser's sees the same sentence twice.

    Args:
        kind: "plain" (prose without structure), "markdown" (headings, lists, tables and code) or
            "pdf" (what the PDF reader makes of pages: headings and long paragraphs).
        characters: how long the text shall be.
    """
    paragraphs = _paragraphs(kind)
    rng = random.Random(20_26)  # noqa: S311 -- the same text in every run is the point
    chosen: list[str] = []
    size = 0
    while size < characters:
        chosen.append(_varied(rng.choice(paragraphs), rng))
        size += len(chosen[-1]) + 2
    return "\n\n".join(chosen)[:characters]


def _paragraphs(kind: str) -> list[str]:
    if kind == "pdf":
        from rag_nodes.readers import read

        text = read(CORPUS / "handbook.pdf").text
    else:
        text = (CORPUS / "manual.md").read_text(encoding="utf-8")
    # Half a fence would turn all that follows into code.
    paragraphs = [part for part in text.split("\n\n") if part.strip() and part.count("```") != 1]
    if kind == "plain":
        paragraphs = [part for part in paragraphs if part[0].isalpha() and "`" not in part]
        return [" ".join(part.split()) for part in paragraphs]
    return paragraphs


def _varied(paragraph: str, rng: random.Random) -> str:
    """The paragraph with a number behind some of its words."""
    words = paragraph.split(" ")
    for _ in range(1 + len(words) // 25):
        at = rng.randrange(len(words))
        if words[at].isalpha():
            words[at] = f"{words[at]} {rng.randrange(10_000)}"
    return " ".join(words)


def dense_headings(characters: int) -> str:
    """Markdown with a heading of one of three levels every hundred characters or so."""
    rng = random.Random(20_26)  # noqa: S311 -- the same text in every run is the point
    sentences = [part for part in _paragraphs("plain") if len(part) < 200]  # noqa: PLR2004 -- short
    sections: list[str] = []
    size = 0
    while size < characters:
        number = len(sections)
        sections.append(f"{'#' * (1 + number % 3)} Part {number}\n\n{rng.choice(sentences)[:90]}\n")
        size += len(sections[-1]) + 1
    return "\n".join(sections)[:characters]


def pathological(characters: int) -> dict[str, str]:
    """Documents on which careless parsers hang, by name."""
    headings = max(1, characters // 50)  # 10^5 in 5 MB
    return {
        "no spaces": "".join(chr(97 + (n * 7919) % 26) for n in range(characters)),
        "one letter": "a" * characters,
        "flags": ("\U0001f1e9\U0001f1ea" * characters)[:characters],
        "newlines": "\n" * characters,
        "spaces": " " * characters,
        "one sentence": "word " * (characters // 5),
        "headings": "".join(
            f"## Heading number {n:07}\n\nA line of text here.\n\n\n" for n in range(headings)
        ),
        "unclosed fence": "```\n" + "x = compute(x)\n" * (characters // 15),
        "one table": "| part | price |\n|---|---|\n"
        + "".join(f"| bolt {n} | {n % 97} |\n" for n in range(characters // 20)),
    }


def fill(folder: Path, megabytes: float, files: int, pdfs: int, source: Path | None) -> None:
    """Write text files of unequal sizes, half of them Markdown, and copies of a PDF.

    Args:
        folder: where to.
        megabytes: of text in all.
        files: how many text files.
        pdfs: how many PDFs, each with bytes of its own behind its end.
        source: a folder of `.txt` and `.md` files whose paragraphs are used; None for ours.
    """
    picked = random.Random(0)  # noqa: S311 -- no secret
    sizes = [picked.lognormvariate(0, 1) for _ in range(files)]
    scale = megabytes * MEGABYTE / sum(sizes)
    texts = {kind: endless(kind, source, picked) for kind in _MIXED}
    for number, size in enumerate(sizes):
        kind = _MIXED[number % 2]
        path = (
            folder / f"{number // _PER_FOLDER:04}" / f"{number:06}{'.md' if number % 2 else '.txt'}"
        )
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(taken(texts[kind], max(200, int(size * scale))), encoding="utf-8")
    content = (CORPUS / "ferry.pdf").read_bytes()
    for number in range(pdfs):
        path = folder / "pdf" / f"{number:04}.pdf"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(content + f"\n% {number}\n".encode())


def endless(kind: str, source: Path | None, picked: random.Random) -> Iterator[str]:
    """Paragraphs in random order, without an end."""
    if source is None:
        paragraphs = text_of(kind, _BLOCK).split("\n\n")
    else:
        paths = [path for end in ("*.txt", "*.md") for path in sorted(source.rglob(end))]
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
        paragraphs = [part for text in texts for part in text.split("\n\n") if part.strip()]
    while True:
        yield picked.choice(paragraphs)


def taken(paragraphs: Iterator[str], characters: int) -> str:
    """Paragraphs of about so many characters."""
    parts: list[str] = []
    size = 0
    while size < characters:
        parts.append(next(paragraphs))
        size += len(parts[-1]) + 2
    return "\n\n".join(parts)[:characters]
