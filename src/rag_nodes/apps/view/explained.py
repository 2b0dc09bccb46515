"""What each parser does, in a line (S0-12): a glossary beside the choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.apps.view.html import Html, name_of, tag
from rag_nodes.apps.view.parts import colour_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_nodes.parsers import Preset


def parsers_explained(offer: Mapping[str, Preset]) -> Html:
    """All that can be chosen with its summary, in the order it is offered."""
    return tag(
        "dl",
        *(
            tag(
                "div",
                tag(
                    "dt",
                    tag("span", cls=f"rn-swatch {colour_of(name)}", aria_hidden="true"),
                    name_of(preset.title),
                ),
                tag("dd", name_of(preset.summary)),
            )
            for name, preset in offer.items()
        ),
        cls="rn-explained",
    )
