"""What each parser does, in a line (S0-12): a glossary beside the choice."""

from __future__ import annotations

from rag_nodes.apps.view.html import Html, tag
from rag_nodes.apps.view.parts import colour_of
from rag_nodes.parsers import PRESETS


def parsers_explained() -> Html:
    """All presets with their summaries, in the order they are offered."""
    return tag(
        "dl",
        *(
            tag(
                "div",
                tag(
                    "dt",
                    tag("span", cls=f"rn-swatch {colour_of(name)}", aria_hidden="true"),
                    preset.title,
                ),
                tag("dd", preset.summary),
            )
            for name, preset in PRESETS.items()
        ),
        cls="rn-explained",
    )
