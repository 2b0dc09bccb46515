"""Reference lists: titles that repeat a question's words, but answer nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import regex

_HEADING = regex.compile(
    r"(?:(?:appendix|annex|anhang)\s+)?(?:[\divx]+|[a-z])?(?:\.\d+)*[.:)\s-]*"
    r"(?:(?:list of )?references(?: and notes)?|notes and references|citations"
    r"|(?:works|literature) cited"
    r"|bibliograph(?:y|ie)|literatur(?:verzeichnis|angaben|nachweise?)?|quellenverzeichnis"
    r"|einzelnachweise|références(?: bibliographiques)?|referencias(?: bibliográficas)?"
    r"|bibliografía|список литературы|литература|المراجع|संदर्भ(?: सूची)?|参考文献|參考文獻)[\s:.]*",
    regex.IGNORECASE,
)
"""The heading of a reference list, with its number."""
_YEAR = r"(?<!\d)(?:1[89]|20)\d\d(?!\d)"
_NAME = r"\p{Lu}[\p{L}'\p{Pf}-]+"
_ENTRY = regex.compile(
    rf"[\W_]{{0,3}}(?:\d{{1,3}}[\]).]|[^\]\s]{{1,12}}\])\s(?=.*{_YEAR})"
    rf"(?:{_NAME},?\s\p{{Lu}}{{1,3}}[.,;]"
    rf"|(?:\p{{Lu}}\.[\s-]?)+\s?{_NAME}(?:[.,;:]|\s(?:and|und|et|y|&)\s)"
    r"|(?=.*(?:\bet al\b|\bdoi\b)))",
    regex.DOTALL,
)
"""The beginning of an entry: a number or a label in brackets, a name with initials, and a year.

A year alone would be found in the numbered paragraphs of laws and judgments, too.
"""
_SOURCE = regex.compile(rf"{_YEAR}|https?:|\bdoi\b|\bet al\b")
"""A year, a link or a mark that an entry of a reference list has."""
_LETTERS_PER_SOURCE = 400
"""Characters of a reference list that hold one of these at least, on average."""
_SURNAMES = regex.compile(r"(\p{Lu}[\p{L}'\p{Pf}-]+),\s\p{Lu}\.")
_AUTHORS = regex.compile(
    r"[\W_]*+(?:\d++[\W_]++)?+"
    r"((?:(?:\p{Lu}\.|\p{Lu}[\p{L}'\p{Pf}-]*+|(?:and|und|et|y|v[ao]n|der?|la|le)\b|&)[\s,;]*+)++)"
    rf"[\s.,]*+(?=$|\(?{_YEAR}|\([^()]*{_YEAR}|[\"\p{{Pi}}])"
)
"""Names at the beginning of an entry, before its year or a title in quotation marks."""
_NAMED = regex.compile(r"\p{Lu}[\p{L}'\p{Pf}-]*\p{L}")
_ASKS = regex.compile(
    rf"{_YEAR}|\b(?:references?|cit(?:e[sd]?|ing|ations?)|bibliograph\w*|literatur\w*|zitier\w*"
    r"|quellen?|références?|citée?s?|referencias?|citad[ao]s?|doi|arxiv|et al)\b|参考文献|引用",
    regex.IGNORECASE,
)
"""A year, or words that ask for a reference."""


def in_lists(
    by_heading: Mapping[tuple[str, tuple[str, ...]], Mapping[int, str]],
) -> Iterator[int]:
    """Yield the units of reference lists, out of the texts by document and headings."""
    for (_, path), texts in by_heading.items():
        if is_reference_heading(path) and _has_sources([*texts.values()]):
            yield from texts


def is_reference_heading(path: Iterable[str]) -> bool:
    """Return True if one of the headings above a text is that of a reference list."""
    return any(_HEADING.fullmatch(heading.strip()) for heading in path)


def _has_sources(texts: Sequence[str]) -> bool:
    """Return True if texts under the heading of a reference list are one.

    A chapter of a manual about references has the heading, too, but few years and links.
    """
    sources = sum(len(_SOURCE.findall(text)) for text in texts)
    return sources * _LETTERS_PER_SOURCE >= sum(map(len, texts))


def are_entries(texts: Sequence[str]) -> list[bool]:
    """Return True for each text that is an entry of a list, beside at least one other entry."""
    entries = [_ENTRY.match(text) is not None for text in texts]
    beside = zip(entries, [False, *entries], [*entries[1:], False], strict=False)
    return [own and (before or after) for own, before, after in beside]


def asks_for_references(question: str, entries: Iterable[str]) -> bool:
    """Return True if a question names a year, asks for a reference, or names an author in a list.

    Args:
        question: in the user's words; names have a capital letter.
        entries: of the reference lists that were retrieved.
    """
    if _ASKS.search(question):
        return True
    named = {name.casefold() for name in _NAMED.findall(question)}
    return any(named & _authors(entry) for entry in entries)


def _authors(entry: str) -> set[str]:
    names = _SURNAMES.findall(entry)
    if not names and (leading := _AUTHORS.match(entry)):
        names = _NAMED.findall(leading[1])
    return {name.casefold() for name in names}
