"""Small Firecrawl crawls for tests, as the crawler writes them."""

import json
from pathlib import Path
from typing import Any

SITE = "https://tea.test/docs"

WORDS = "The machine draws water from the tank and heats it before it reaches the leaves. "

GUIDE = f"""\
# Tea machine

{WORDS * 8}

## Water [\\#](\\#water)

{WORDS * 8}

`
_10
# not a heading
_10

fill(litres=9)
`

### Hardness [\\#](\\#water-hardness)

{WORDS * 8}

## Cleaning

{WORDS * 8}
"""
LONG = f"# Parts\n\n{(WORDS * 5 + chr(10) * 2) * 30}"
SHORT = "# Hello\n\nA short page."


def page(name: str, text: str, **metadata: Any) -> dict[str, Any]:
    facts = {"title": f"{name} | Docs", "statusCode": 200, **metadata}
    return {"markdown": text, "metadata": {"sourceURL": f"{SITE}/{name}", **facts}}


PAGES = [
    page("guide", GUIDE, language="en"),
    page("long", LONG),
    page("short", SHORT),
    page("copy", SHORT),
]


def write_crawl(path: Path, pages: list[Any] = PAGES) -> Path:
    """A crawl of version 1."""
    path.write_text(json.dumps({"input_url": SITE, "data": pages}), encoding="utf-8")
    return path
