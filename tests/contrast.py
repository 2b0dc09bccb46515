"""Faults of a page as a browser computes them, above all text that is too pale to read."""

from contextlib import suppress

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as StillWrong

_PALE = """() => {
  const pen = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const rgba = (colour, filter = 'none') => {
    pen.clearRect(0, 0, 1, 1);
    pen.filter = filter;
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data].map((one) => one / 255);
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((one, at) => one * a + under[at] * (1 - a));
  const behind = (one) => one ? over(rgba(getComputedStyle(one).backgroundColor),
    behind(one.parentElement)) : [1, 1, 1];
  const light = (colour) => colour.map((one) =>
    one <= .04045 ? one / 12.92 : ((one + .055) / 1.055) ** 2.4)
    .reduce((sum, one, at) => sum + one * [.2126, .7152, .0722][at], 0);
  const found = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const one = texts.currentNode.parentElement;
    const text = texts.currentNode.data.trim().slice(0, 30);
    if (!one.closest('WITHIN')) continue;
    if (!text || !one.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    if (one.closest('style, script, .rn-letters, .rn-said')) continue;
    const ground = behind(one), style = getComputedStyle(one), line = one.closest('.cm-line');
    const ink = rgba(one.closest('svg') ? style.fill : style.color,
      line ? getComputedStyle(line).filter : 'none');
    for (let outer = one; outer; outer = outer.parentElement)
      ink[3] *= getComputedStyle(outer).opacity;
    const said = over(ink, ground);
    const [dark, bright] = [light(said), light(ground)].sort((a, b) => a - b);
    const contrast = (bright + .05) / (dark + .05);
    if (contrast < 4.5) found.add(`${contrast.toFixed(2)} ${one.tagName} ${text}`);
  }
  return [...found];
}"""
STILL = "*, *::before, *::after { transition: none !important; animation: none !important; }"

OURS = ".rn"
"""Our parts of a host app."""


def pale(within: str = "body") -> str:
    """Return a function in JavaScript that lists texts which do not stand out from their ground.

    These have less than 4.5 times its light, or darkness. Text without opacity is not seen, such as
    what Gradio writes of every event that runs: Decide has one every other second.

    Args:
        within: selector of the elements to look in.
    """
    return _PALE.replace("WITHIN", within)


def left(page: Page, faults: str) -> list[str]:
    """Return the faults that stay: a page takes a moment to draw what is unfolded.

    Args:
        page: where to look.
        faults: a function in JavaScript that returns a list.
    """
    with suppress(StillWrong):
        page.wait_for_function(f"({faults})().length === 0")
        return []
    return list(page.evaluate(faults))
