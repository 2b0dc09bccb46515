"""Writes docs/reference/cli.md, the page of all commands and options, from the program itself.

`make format` and `make docs` run it. Each option stands under the heading that help gives it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from rag_nodes.cli.commands import COMMANDS, command
from rag_nodes.operations import GROUPS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
_HEAD = """# Commands and options

`rag-nodes COMMAND --help` says the same; `make format` writes this page. Common options come first.
How commands work together: [ingest](../guides/ingest.md) and
[evaluate](../get-started/choose-chunking.md). Output as JSON, exit codes: [formats](formats.md).
"""
_SHARED = ("Store", "Models", "Output")
"""Headings whose options mean the same in every command: they stand at the end of the page."""
_MARKUP = re.compile(r"\[/?(?:dim|bold)\]")


def page() -> str:
    """The whole page."""
    root = command()
    parts = [_HEAD, "| command | |", "|---|---|"]
    parts += [
        f"| [`{name}`](#{_anchor(name)}) | {command.summary} |"
        for name, command in COMMANDS.items()
    ]
    shared: dict[str, dict[str, None]] = {}
    for name in COMMANDS:
        parts += _section(root, name, shared)
    for panel, rows in shared.items():
        parts += ["", f"## {panel} options", "", f"| {panel} | |", "|---|---|", *rows]
    return "\n".join(parts) + "\n"


def _anchor(name: str) -> str:
    return "rag-nodes-" + name.replace(" ", "-")


def _section(root: Any, name: str, shared: dict[str, dict[str, None]]) -> list[str]:
    """What one command takes; rows under headings that are shared are put beside the others'."""
    context = root.make_context("rag-nodes", [name])
    _, command, _ = root.resolve_command(context, [name.split(maxsplit=1)[0]])
    if name.split(maxsplit=1)[0] in GROUPS:
        _, command, _ = command.resolve_command(context, name.split()[1:])
    examples = "\n".join(f"rag-nodes {example}" for example in COMMANDS[name].examples)
    lines = ["", f"## rag-nodes {name}", ""]
    lines += [_plain(command.help or ""), "", "```sh", examples, "```"]
    panels: dict[str, list[str]] = {}
    for parameter in command.params:
        if not getattr(parameter, "hidden", False) and parameter.name != "help":
            panel = getattr(parameter, "rich_help_panel", None) or (
                "Arguments" if parameter.param_type_name == "argument" else "Common options"
            )
            panels.setdefault(panel, []).append(_row(parameter))
    if "Arguments" in panels:
        panels = {"Arguments": panels.pop("Arguments"), **panels}
    also = [panel for panel in _SHARED if panel in panels]
    for panel in also:
        shared.setdefault(panel, {}).update(dict.fromkeys(panels.pop(panel)))
    for panel, rows in panels.items():
        lines += ["", f"| {panel} | |", "|---|---|", *rows]
    links = " · ".join(f"[{panel}](#{panel.lower()}-options)" for panel in also)
    return [*lines, "", f"Further options: {links}"]


def _row(option: Any) -> str:
    names = option.opts + option.secondary_opts
    if option.param_type_name == "argument":
        shown = option.name.upper()
    else:
        shown = ", ".join(sorted(names, key=len, reverse=True))
        if not getattr(option, "is_flag", False):
            shown += f" {_value(option)}"
    # In a table the pipe of a code span ends the cell.
    code = f"<code>{shown}</code>" if "|" in shown else f"`{shown}`"
    cells = (cell.replace("|", "&#124;") for cell in (code, _plain(option.help or "")))
    return f"| {' | '.join(cells)} |"


def _value(option: Any) -> str:
    """What is typed behind an option."""
    if option.metavar:
        return str(option.metavar)
    kind = option.type_descriptor.annotation
    while get_origin(kind) not in (None, Literal):
        kind = next(choice for choice in get_args(kind) if choice is not type(None))
    if choices := get_args(kind):
        return (
            "{" + ",".join(sorted(map(str, choices))) + "}"
        )  # their order hangs on who asked first
    return {int: "N", float: "X", Path: "PATH"}.get(kind, "TEXT")


def _plain(text: str) -> str:
    """Help without marks of colour, each paragraph in one line."""
    text = _MARKUP.sub("", text.split("\f", maxsplit=1)[0]).replace("\\[", "[")
    return re.sub(r"[ \t]*\n(?!\n)[ \t]*", "\n" if "\n\n" in text else " ", text).strip()


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
