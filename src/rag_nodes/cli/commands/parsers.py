"""`rag-nodes parsers`: the presets and their options."""

from typing import Any

from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.selection import options_of
from rag_nodes.cli.views.text import facts, plain


@takes()
def parsers(cli: Invocation) -> None:
    """List the parsers with their options and defaults."""
    with cli.activity("Loading parsers"):
        from rag_nodes.parsers import offered

        listed = [
            {
                "name": preset.name,
                "title": preset.title,
                "summary": preset.summary,
                "class": preset.parser.class_name(),
                "options": options_of(preset.name),
                "sizes": list(preset.sizes) if preset.sizes else None,
            }
            for preset in offered().values()
        ]
    if cli.as_json:
        cli.emit({"parsers": listed})
        return
    for preset in listed:
        _show(cli, preset)


def _show(cli: Invocation, preset: dict[str, Any]) -> None:
    options = ", ".join(f"{name}={value}" for name, value in preset["options"].items())
    low, high = preset["sizes"] or (None, None)
    sizes = [("  Worth a try", f"chunk_size from {low} to {high}")] if low else []
    cli.show(
        plain(preset["name"], "bold"),
        facts(
            [
                ("  Cuts", preset["summary"]),
                ("  Class", preset["class"]),
                ("  Options", options),
                *sizes,
            ]
        ),
        "",
    )
