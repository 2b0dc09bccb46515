"""Typeface, colours and spacing of the app; nothing is fetched from another host."""

from __future__ import annotations

from importlib.resources import files

import gradio as gr

_STYLES = ("base", "answers", "document", "decide")
"""Parts of the style sheet; what comes later wins."""


def make_theme() -> gr.themes.Base:
    """Return a calm theme on fonts that Gradio ships."""
    theme = gr.themes.Base(
        primary_hue=gr.themes.colors.blue,
        secondary_hue=gr.themes.colors.slate,
        neutral_hue=gr.themes.colors.slate,
        text_size=gr.themes.sizes.text_sm,
        spacing_size=gr.themes.sizes.spacing_sm,
        radius_size=gr.themes.sizes.radius_md,
        font=[
            # Gradio's semibold file of this family lacks most letters; bold stands in for it.
            gr.themes.LocalFont("IBM Plex Sans", weights=(400, 700)),
            "system-ui",
            "sans-serif",
        ],
        font_mono=[
            gr.themes.LocalFont("IBM Plex Mono", weights=(400,)),
            "ui-monospace",
            "monospace",
        ],
    ).set(
        body_background_fill="*neutral_50",
        body_background_fill_dark="*neutral_950",
        body_text_color="*neutral_800",
        body_text_color_dark="*neutral_100",
        # 500 would be too pale on the tints of chunks.
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_400",
        block_label_text_color="*neutral_600",
        block_label_text_color_dark="*neutral_300",
        block_title_text_color="*neutral_700",
        block_title_text_color_dark="*neutral_200",
        block_info_text_color="*neutral_600",
        block_info_text_size="12px",
        input_placeholder_color="*neutral_600",
        input_placeholder_color_dark="*neutral_300",
        color_accent="*primary_600",
        checkbox_border_color="*neutral_500",
        checkbox_border_color_dark="*neutral_400",
        button_small_text_size="13px",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_text_color="white",
        button_border_width="1px",
        button_secondary_background_fill="white",
        button_secondary_background_fill_dark="*neutral_800",
        button_secondary_background_fill_hover="*neutral_100",
        button_secondary_background_fill_hover_dark="*neutral_700",
        button_secondary_border_color="*neutral_300",
        button_secondary_border_color_dark="*neutral_600",
    )
    theme.custom_css = ":root { --rn-font: var(--font); }"  # both of its weights are complete
    return theme


def style_sheet() -> str:
    """Return the style sheet of the page.

    Its rules are nested in one for the page, so that they outweigh the rules that Gradio and its
    themes have for buttons, fields and lists.
    """
    outside, *parts = (_style(name) for name in ("outside", *_STYLES))
    return f"{outside}.gradio-container.gradio-container .rn {{\n{''.join(parts)}}}\n"


def _style(name: str) -> str:
    path = files("rag_nodes.apps") / "styles" / f"{name}.css"
    return path.read_text(encoding="utf-8")
