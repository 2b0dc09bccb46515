"""From what a few windows of a text give away to the parser that suits it, without labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from rag_nodes.parsers.source import SourceText
from rag_nodes.text.markdown import Kind
from rag_nodes.text.packing import Packer

_SPEAKER = re.compile(
    r"(?:[*_\[(]*\d[\d:.,\])]*\s*)?[*_\[(]*[^\W\d_][\w .'-]{0,30}[*_\])]*:[*_]*\s"
)
"""A name and a colon at the start of a line, maybe after a time."""
_LABEL = re.compile(r"([^\W\d_][\w ./'()-]{0,60}):(?:[ \t]|$)")
"""What stands before a field of a record, as the reader of CSV writes them: `Name: value`."""
_DELIMITERS = ",;\t|"
_LEAST_RECORDS = 3
_LEAST_ROWS = 10
WINDOWS = 3
WINDOW = 4_000
"""Characters of each window that is looked at, and their number: beginning, middle and end."""
SHORT = 5 * WINDOWS * WINDOW
"""Characters up to which a text is looked at as a whole: the parser that is chosen uses most of
what was found out, and windows would be found out beside it."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What was seen of a text.

    Of headings their number and levels, the median tokens from one to the next, and the share of
    the text under them. The share of tables; the number of records, which are blocks of fields
    under the same names, and the share of lines that are their fields or cells between delimiters.

    Tokens of the paragraph and of the sentence that the middle of all prose stands in, and the
    share of lines that begin with a speaker, are 0 where the others decide: nothing is looked for
    without need.
    """

    headings: int
    levels: int
    section_tokens: int
    under_headings: float
    table_share: float
    records: int
    record_share: float
    paragraph_tokens: int = 0
    sentence_tokens: int = 0
    speaker_share: float = 0.0


def sample_of(source: SourceText, *, language: str) -> SourceText:
    """The source itself, or of a long one three windows of whole lines."""
    text = source.text
    if len(text) <= SHORT:
        return source
    start, stop = len(text) - len(text.lstrip()), len(text.rstrip())
    step = max(0, stop - start - WINDOW) // (WINDOWS - 1)
    windows = [_window(text, start + step * number) for number in range(WINDOWS)]
    return SourceText(
        "\n\n".join(windows),
        title=source.title,
        encoding=source.encoding,
        language=language,
        text_format=source.text_format,
    )


def _window(text: str, start: int) -> str:
    """Text from the next line on, where one begins soon, and no half line at the end."""
    window = text[start : start + WINDOW]
    first = 0 if start == 0 else window.find("\n") + 1
    last = window.rfind("\n")
    if last - first < WINDOW // 2:
        return window
    return window[first:last]


def structure_of(sample: SourceText) -> Signals:
    """Headings, tables and records of what is looked at of a text."""
    packer = sample.packer
    length = max(packer.end - packer.start, 1)
    headings = [block for block in packer.blocks if block.kind is Kind.HEADING]
    starts = [block.start for block in headings]
    sections = [right - left for left, right in pairwise([*starts, packer.end])]
    tables = sum(block.end - block.start for block in packer.blocks if block.kind is Kind.TABLE)
    records, in_records = _records(sample.text)
    return Signals(
        headings=len(headings),
        levels=len({block.level for block in headings}),
        section_tokens=round(median(sections) * _tokens_per_character(packer)) if sections else 0,
        under_headings=round((packer.end - starts[0]) / length, 3) if starts else 0.0,
        table_share=round(tables / length, 3),
        records=records,
        record_share=max(in_records, _in_columns(sample.text)),
    )


def with_sentences(signals: Signals, sample: SourceText) -> Signals:
    """The signals, and those of paragraphs and sentences, which take longest to find."""
    packer = sample.packer
    per_character = _tokens_per_character(packer)
    return replace(
        signals,
        paragraph_tokens=round(_middle(_prose(packer)) * per_character),
        sentence_tokens=round(_middle(_sentences(packer)) * per_character),
        speaker_share=_speaker_share(packer),
    )


def _tokens_per_character(packer: Packer) -> float:
    return len(packer.tokens) / max(packer.end - packer.start, 1)


def _records(text: str) -> tuple[int, float]:
    """Blocks of lines that name the same fields, and the share of named lines in them."""
    blocks = [_labels(block) for block in re.split(r"\n[ \t]*\n", text)]
    blocks = [labels for labels in blocks if labels]
    named = [labels for labels in blocks if len(labels) == len(set(labels)) > 1]
    if not named:
        return 0, 0.0
    first, _ = Counter(labels[0] for labels in named).most_common(1)[0]
    records = [labels for labels in named if labels[0] == first]
    if len(records) < _LEAST_RECORDS:
        return 0, 0.0
    return len(records), round(sum(map(len, records)) / sum(map(len, blocks)), 3)


def _labels(block: str) -> list[str]:
    return [match[1] for line in block.splitlines() if (match := _LABEL.match(line))]


def _in_columns(text: str) -> float:
    """Share of the lines that have as many delimiters as most lines have, two or more."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < _LEAST_ROWS:
        return 0.0
    shares = []
    for delimiter in _DELIMITERS:
        counts = Counter(line.count(delimiter) for line in lines)
        usual, often = counts.most_common(1)[0]
        shares.append(often / len(lines) if usual > 1 else 0.0)
    return round(max(shares), 3)


def _prose(packer: Packer) -> list[int]:
    return [b.end - b.start for b in packer.blocks if b.kind in {Kind.PARAGRAPH, Kind.QUOTE}]


def _middle(lengths: Sequence[int]) -> int:
    """The length that half of all characters stand in pieces of at least."""
    seen, half = 0, sum(lengths) / 2
    for length in sorted(lengths):
        seen += length
        if seen >= half:
            return length
    return 0


def _sentences(packer: Packer) -> list[int]:
    return [
        unit.length
        for block in packer.blocks
        if block.kind in {Kind.PARAGRAPH, Kind.QUOTE, Kind.LIST}
        for unit in packer.units_of(block)
    ]


def _speaker_share(packer: Packer) -> float:
    lines = [line for line in packer.text.splitlines() if line.strip()]
    return round(sum(map(bool, map(_SPEAKER.match, lines))) / max(len(lines), 1), 3)


SEMANTIC = "semantic"

_LEAST_HEADINGS = 3
"""Two can be a title and a footer."""
_MOST_UNDER = 0.5
"""Share of a text that has to stand under headings for them to be its order."""
_SHORTEST_SECTION = 12
"""Tokens; where half of all sections are shorter, the headings are lines of a form or a menu."""
_LONGEST_SECTION = 12
"""In nodes; where half of all sections are longer, headings hardly say where to cut."""
_SPEAKERS = 0.3
"""Share of lines with a speaker from which a text is taken for a conversation."""
_RECORDS = 0.6
"""Share of lines in records, or of text in tables, from which a text is taken for data."""
_LONG_SENTENCE = 150
"""Tokens; where half of a text is in longer ones, they are no sentences."""


def rules_of_structure(signals: Signals, sizes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Candidates that apply, best first, with the reason, a sentence without its stop.

    These rules go by headings, records and tables alone; `sizes` are those of the candidates.
    """
    if signals.records and signals.record_share >= _RECORDS:
        said = f"{signals.records} records with the same fields, {signals.record_share:.0%} of it"
        yield "token-overlap", said
    elif signals.table_share >= _RECORDS:
        yield "token-overlap", f"Tables are {signals.table_share:.0%} of the text"
    longest = _LONGEST_SECTION * sizes.get("heading", 0)
    if (
        signals.headings >= _LEAST_HEADINGS
        and signals.under_headings >= _MOST_UNDER
        and _SHORTEST_SECTION <= signals.section_tokens <= longest
    ):
        levels = f"{_several(signals.headings, 'heading')} on {_several(signals.levels, 'level')}"
        share = f"order {signals.under_headings:.0%} of the text"
        yield "heading", f"{levels}, every {signals.section_tokens} tokens, {share}"
    if signals.record_share >= _RECORDS:
        said = f"{signals.record_share:.0%} of the lines have the same number of columns"
        yield "recursive", said


def rules_of_sentences(signals: Signals, sizes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """The same by paragraphs and sentences, for a text whose structure names no candidate."""
    paragraphs, sentences = signals.paragraph_tokens, signals.sentence_tokens
    if sentences > _LONG_SENTENCE:
        yield "recursive", f"Half of the text is in sentences of {sentences} tokens and more"
    if signals.speaker_share >= _SPEAKERS:
        yield "sentence", f"{signals.speaker_share:.0%} of the lines begin with a speaker"
    if paragraphs > sizes.get(SEMANTIC, 0):
        said = f"No headings, and paragraphs of {paragraphs} tokens do not say where topics change"
        yield SEMANTIC, said
    sizes_of_both = f"paragraphs of {paragraphs} tokens and sentences of {sentences} decide"
    yield "token-overlap", f"{_several(signals.headings, 'heading')} to go by; {sizes_of_both}"


def _several(count: int, noun: str) -> str:
    return f"{count or 'No'} {noun}{'' if count == 1 else 's'}"
