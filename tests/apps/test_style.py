"""Colours that can be read: contrasts of the style sheet after WCAG 2.2, 1.4.3."""

import re
from itertools import product
from pathlib import Path

import pytest

import rag_nodes.apps
from rag_nodes.apps.theme import make_theme, style_sheet

READABLE = 4.5
"""Least contrast of text and what is behind it."""
TINTS = {"ink": (0.08, 0.22, 0.30), "quiet": (0.08, 0.22)}
"""Shares of a parser's colour behind text, see `.rn-k0`, `.rn-k1` and `.rn-hit`."""
PAIRS = ("strong", "fair", "weak")
MADE = r"rn-(?:c\d|at-\w+|answer-\w+|strong|fair|weak|unknown|info)"
"""Classes that are put together: the name of none stands anywhere."""


def _colours(scheme: str) -> dict[str, str]:
    """Custom properties of one scheme, with those of Gradio's theme that the parts use."""
    light, dark, paper = (
        dict(re.findall(r"--(rn-[\w-]+): (#[0-9a-f]{3,6})", block))
        for block in re.findall(r"\{([^{}]*--rn-1:[^{}]*)\}", style_sheet())
    )
    assert paper.items() <= light.items()  # a printed page is white in the dark, too
    theme, end = make_theme(), "" if scheme == "light" else "_dark"
    palette = {
        name: _resolve_colour(theme, f"{attribute}{end}")
        for name, attribute in (
            ("ink", "body_text_color"),
            ("page", "body_background_fill"),
            ("input", "input_background_fill"),
            ("placeholder", "input_placeholder_color"),
        )
    }
    own = light if scheme == "light" else {**light, **dark}
    return {**own, "quiet": own["rn-quiet"], **palette}


def _resolve_colour(theme: object, attribute: str) -> str:
    value = str(getattr(theme, attribute))
    while value.startswith("*"):
        value = str(getattr(theme, value[1:]))
    return {"white": "#ffffff"}.get(value, value)


def _channels(colour: str) -> tuple[float, ...]:
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    return tuple(int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))


def _luminance(channels: tuple[float, ...]) -> float:
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(text: tuple[float, ...], behind: tuple[float, ...]) -> float:
    dark, light = sorted((_luminance(text), _luminance(behind)))
    return (light + 0.05) / (dark + 0.05)


def _mix_colours(colour: str, behind: str, share: float) -> tuple[float, ...]:
    pairs = zip(_channels(colour), _channels(behind), strict=True)
    return tuple(share * pair + (1 - share) * other for pair, other in pairs)


def test_every_class_of_the_style_sheet_is_used_and_every_rule_stands_once() -> None:
    sheet = re.sub(r"/\*.*?\*/", "", style_sheet(), flags=re.DOTALL)
    files = [path for path in Path(rag_nodes.apps.__file__).parent.rglob("*") if path.is_file()]
    texts = [path.read_text("utf-8") for path in files if path.suffix in {".py", ".html", ".js"}]
    used = {*re.findall(r"rn-[\w-]+", "".join(texts))}
    classes = {*re.findall(r"\.(rn-[\w-]+)", sheet)}
    assert {name for name in classes - used if not re.fullmatch(MADE, name)} == set()
    rules = re.findall(r"[^{}]*\{[^{}]*\}", sheet.split("@media")[0])
    assert len(rules) == len({rule.strip() for rule in rules})


def test_black_on_white_has_the_contrast_that_wcag_names() -> None:
    assert _contrast(_channels("#000"), _channels("#fff")) == pytest.approx(21)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_on_everything_it_stands_on_and_facts_on_the_tints_of_chunks(
    scheme: str,
) -> None:
    colours = _colours(scheme)
    hues = [f"rn-{number}" for number in range(1, 7)]
    pairs = [
        *product(["ink", "quiet", *hues], ["page", "rn-card"]),
        *((f"rn-{name}-ink", f"rn-{name}") for name in PAIRS),
        ("ink", "rn-mark"),
        ("ink", "rn-code"),
        ("placeholder", "input"),
    ]
    grounds = [(text, behind, _channels(colours[behind])) for text, behind in pairs]
    grounds += [
        (text, f"{share} of {hue}", _mix_colours(colours[hue], colours["page"], share))
        for text, shares in TINTS.items()
        for hue, share in product(hues, shares)
    ]
    poor = {
        f"{text} on {behind}": round(ratio, 2)
        for text, behind, ground in grounds
        if (ratio := _contrast(_channels(colours[text]), ground)) < READABLE
    }
    assert poor == {}
