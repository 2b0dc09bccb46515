"""Writes what README and docs list of parsers, from their classes: `make format` runs it.

A list stands between two comments, `<!-- parsers -->` and `<!-- /parsers -->`. `some parsers` is
the short table of the README, `parameters: CLASS` and `presets: CLASS` are on the page of a class.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from griffe import Docstring, DocstringSectionKind

import rag_nodes
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.offer import ranges_of
from rag_nodes.parsers.presets import PRESETS

ROOT = Path(__file__).parents[2]
PARSERS = ROOT / "docs" / "parsers"
OF_CLASSES = {
    "FixedSizeNodeParser": PARSERS / "fixed-size.md",
    "RecursiveNodeParser": PARSERS / "recursive.md",
    "SentenceNodeParser": PARSERS / "sentence.md",
    "TokenOverlapNodeParser": PARSERS / "token-overlap.md",
    "HeadingHierarchyNodeParser": PARSERS / "heading.md",
    "PageNodeParser": PARSERS / "page.md",
    "SemanticNodeParser": PARSERS / "semantic.md",
    "ParentChildNodeParser": PARSERS / "parent-child.md",
    "AutoNodeParser": PARSERS / "auto.md",
    "ForeignNodeParser": PARSERS / "other-splitters.md",
}
"""Page of each class."""
PAGES = (ROOT / "README.md", ROOT / "docs" / "reference" / "parsers.md", *OF_CLASSES.values())
SOME = ("retrieval", "heading", "token-overlap", "semantic", "sentence-window", "parent-child")
_TABLE = re.compile(r"(?<=<!-- parsers -->\n).*?(?=\n<!-- /parsers -->)", re.DOTALL)
_OF_A_CLASS = re.compile(
    r"(?<=<!-- )(?P<list>parameters|presets): (?P<name>\w+) -->\n.*?(?=<!-- /)", re.DOTALL
)
_SHORT = re.compile(r"(?<=<!-- some parsers -->\n).*?(?=\n<!-- /some parsers -->)", re.DOTALL)


def parsers_table() -> str:
    """A row for each preset: name, class, how it splits, and what is worth trying."""
    rows = ["| preset | class | how it splits | worth trying |", "|---|---|---|---|"]
    for name, preset in PRESETS.items():
        fields = ", ".join(f"`{option.field}`" for option in ranges_of(preset))
        class_name = preset.path.rpartition(":")[2]
        page = f"../parsers/{OF_CLASSES[class_name].name}"
        rows.append(f"| `{name}` | [`{class_name}`]({page}) | {preset.summary} | {fields} |")
    return "\n".join(rows)


def short_table() -> str:
    """A row for each of `SOME`: name, and how it splits."""
    pages = {name: OF_CLASSES[PRESETS[name].path.rpartition(":")[2]].name for name in SOME}
    rows = [
        f"| [`{name}`](docs/parsers/{page}) | {PRESETS[name].summary} |"
        for name, page in pages.items()
    ]
    return "\n".join(["| preset | how it splits |", "|---|---|", *rows])


def parameters(class_name: str) -> str:
    """Return a list of a parser's own options: name, type, default, meaning."""
    parser = getattr(rag_nodes, class_name)
    described: dict[str, str] = {}
    docstring = Docstring(inspect.cleandoc(parser.__doc__ or ""))
    for section in docstring.parse("google", warnings=False):
        if section.kind is DocstringSectionKind.parameters:
            described |= {
                parameter.name: " ".join(parameter.description.split())
                for parameter in section.value
            }
    fields = {
        name: field
        for name, field in parser.model_fields.items()
        if name in described and name not in SpanNodeParser.model_fields
    }
    rows = [
        f"- `{name}` (`{_type(parser, name)}`, default `{_default(field)}`): {described[name]}"
        for name, field in fields.items()
    ]
    more = "every parser also has the [common options](../reference/parsers.md#common-options)"
    return "\n".join([*rows, f"\nAll of them are keywords; {more}."])


def _type(parser: type[Any], name: str) -> str:
    """Return the annotation of a field in a reader's words."""
    annotations = map(inspect.get_annotations, parser.__mro__)
    annotation = str(next(own[name] for own in annotations if name in own))
    annotation = re.sub(r"InstanceOf\[(\w+)\]", r"\1", annotation)
    return re.sub(
        r"Literal\[(.*?)\]", lambda match: " | ".join(match[1].split(", ")), annotation
    ).replace("'", '"')


def _default(field: Any) -> str:
    """Return the default of a field as code, with double quotes as in our own code."""
    shown = repr(field.get_default(call_default_factory=True))
    return shown.replace("'", '"') if '"' not in shown else shown


def presets(class_name: str) -> str:
    """Return a list of the presets of a class, with the options that they set."""
    rows = []
    for name, preset in PRESETS.items():
        if preset.path.rpartition(":")[2] == class_name:
            options = ", ".join(f"`{option}={value!r}`" for option, value in preset.options.items())
            options = options.replace("'", '"')
            rows.append(f"- `{name}`: {preset.summary}" + (f" ({options})" if options else ""))
    note = f'`get_parser("{rows[0].split("`")[1]}")` makes the parser'
    return "\n".join([*rows, f"\n{note}, and keywords change its options."])


def with_tables(page: str) -> str:
    """The text of a page with its tables made anew."""
    makers = {"parameters": parameters, "presets": presets}
    page = _OF_A_CLASS.sub(
        lambda match: (
            f"{match['list']}: {match['name']} -->\n{makers[match['list']](match['name'])}\n"
        ),
        page,
    )
    return _SHORT.sub(lambda _: short_table(), _TABLE.sub(lambda _: parsers_table(), page))


def main() -> None:
    """Write the tables into the pages that have them."""
    for path in PAGES:
        path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
