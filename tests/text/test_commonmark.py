"""The block scanner against markdown-it-py, on the specification's examples and generated text.

Where the two differ on purpose, a test says so.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from strategies import MARKDOWN

from rag_nodes.text.markdown import Block, Kind, scan_blocks
from rag_nodes.text.markdown.lines import definitions_end

_FIXTURE = Path(__file__).parent.parent / "data" / "commonmark_examples.json"
EXAMPLES: list[str] = json.loads(_FIXTURE.read_text(encoding="utf-8"))["markdown"]
LONG_CODE_SPANS = {121, 335, 336, 337, 640, 641}
"""Numbers of the examples whose code span runs over several lines: a code block to us."""


def _table(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """Tables as GFM has them: a mark opens a list first, and no line outside ends an item."""
    return state.sCount[line] >= state.blkIndent and table(state, line, end, silent)


_REFERENCE = MarkdownIt("commonmark", {"maxNesting": 100})
_REFERENCE.block.ruler.after("list", "tables", _table, {"alt": ["paragraph", "reference"]})
_LINE_END = re.compile(r"\r\n|\r|\n")
_KINDS = {
    "heading_open": Kind.HEADING,
    "paragraph_open": Kind.PARAGRAPH,
    "fence": Kind.CODE,
    "code_block": Kind.CODE,
    "bullet_list_open": Kind.LIST,
    "ordered_list_open": Kind.LIST,
    "table_open": Kind.TABLE,
    "blockquote_open": Kind.QUOTE,
    "html_block": Kind.HTML,
    "hr": Kind.RULE,
}


class Seen(NamedTuple):
    """What both sides say about a block, with exact offsets."""

    kind: Kind
    start: int
    end: int
    level: int = 0
    title: tuple[str, ...] = ()
    info: str = ""


def by_reference(text: str) -> list[Seen]:
    starts = [0, *(end.end() for end in _LINE_END.finditer(text)), len(text)]
    tokens = _REFERENCE.parse(text)
    seen = []
    for position, token in enumerate(tokens):
        if token.level or token.type not in _KINDS or not token.map:
            continue
        start, after = (starts[min(line, len(starts) - 1)] for line in token.map)
        end = start + len(text[start:after].rstrip())
        kind = _KINDS[token.type]
        if kind is Kind.HEADING:
            title = lines(tokens[position + 1].content)
            seen.append(Seen(kind, start, end, int(token.tag[1:]), title))
        else:
            seen.append(Seen(kind, start, end, info=token.info.strip() * (token.type == "fence")))
    return seen


def by_us(text: str) -> list[Seen]:
    """Our blocks, without the link definitions, which only we must keep."""
    return [seen for block in scan_blocks(text) for seen in without_definitions(text, block)]


def without_definitions(text: str, block: Block) -> list[Seen]:
    start = block.start
    if block.kind is Kind.PARAGRAPH:
        plain = text.replace("\r\n", " \n").replace("\r", "\n")
        start = min(definitions_end(plain, start, block.end), block.end)
        if start == block.end:
            return []
    title = lines(block.title.of(text)) if block.kind is Kind.HEADING else ()
    return [Seen(block.kind, start, block.end, block.level, title, block.info)]


def lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines())


def code_spans_as_paragraphs(blocks: list[Seen], reference: list[Seen]) -> list[Seen]:
    """Our code blocks that the reference, at the same place, calls paragraphs with code in them."""
    paragraphs = {seen for seen in reference if seen.kind is Kind.PARAGRAPH}
    as_paragraph = [seen._replace(kind=Kind.PARAGRAPH) for seen in blocks]
    return [
        other if seen.kind is Kind.CODE and other in paragraphs else seen
        for seen, other in zip(blocks, as_paragraph, strict=True)
    ]


def test_the_examples_are_those_of_the_whole_specification() -> None:
    assert len(EXAMPLES) == 652


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_all_examples_have_the_same_blocks_whatever_ends_their_lines(end: str) -> None:
    for number, example_text in enumerate(EXAMPLES, start=1):
        text = example_text.replace("\n", end)
        expected, ours = by_reference(text), by_us(text)
        assert (ours != expected) is (number in LONG_CODE_SPANS), number
        assert code_spans_as_paragraphs(ours, expected) == expected, number


_TEXT_LINES = [
    *("", " ", "text", "more text", "1990 was", "a | b", "étè", "\\# x", "a\\", "#no", "####### 7"),
    *("# head", "## head ##", "#", "# a \\#", "# a #b", "# \t", "===", "---", "=", "--", "-"),
    *("- - -", "***", "__", "_ _ _", "***bold***", "_e_", "&nbsp;", "~~", "x `code` y"),
    *("```", "``` py", "~~~", "~~~~ a`b", "````", "| a | b |", "|---|---|", "--- | ---", ":-:|-:"),
    *("|", "|-|", "||", "| x", "a|b|c", "-|-", "| \\| | b |", "- | -"),
    *("<div>", "</div>", "<b>", "<!-- c", "-->", "<!-- c -->", "<?x", "?>", "<pre>", "</pre>"),
    *("<x y='z'>", '<a href="x">t', "</script x", "<!X y>", "<![CDATA[", "]]>", "<i", "</b >"),
]
_DEFINITIONS = ["[foo]: /url", "[foo]: /url 'title'", "[a]: <b>"]
_CONTAINER_LINES = [line for line in _TEXT_LINES if "|" not in line]
_INDENTS = ["", "", "", " ", "   ", "    ", "\t", "  \t", "      "]
_MARKS = ["", "", "", "> ", ">", "- ", "* ", "+ ", "1. ", "2) ", "10. ", "- - ", "> > ", "> - "]
_ENDS = st.sampled_from(["\n", "\n", "\r\n", "\r"])


def documents(rows: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda body, end: end.join(body), st.lists(rows, max_size=7), _ENDS)


FLAT = documents(st.builds(str.__add__, st.sampled_from(_INDENTS), st.sampled_from(_TEXT_LINES)))
NESTED = documents(
    st.builds(
        lambda indent, mark, line: indent + mark + line,
        st.sampled_from(["", "", " ", "  ", "   "]),
        st.sampled_from(_MARKS),
        st.sampled_from(_CONTAINER_LINES),
    )
)


_CODE_LIKE = re.compile(
    r"(?<![^\r\n]) {3}- (?:[^\r\n]*\S[^\r\n]*(?:\r\n?|\n))+(?: {4}|\t| {2}\t)\S"
)
"""A line that goes on with the paragraph of an item, indented like code but less than the item."""


def agrees(text: str) -> None:
    assume(not text.startswith("---"))  # front matter: CommonMark knows none
    expected = by_reference(text)
    assert code_spans_as_paragraphs(by_us(text), expected) == expected


@given(text=FLAT)
@example(text="a |\n---")
@example(text="x\na | b\n--- | ---\n2. y")
@example(text="``` a\n   ```x\n\t```\n   ```` ")
@example(text="- | -\n|---|---|")
@example(text="- | -\n|-|\n   ---")
def test_generated_lines_in_any_order_have_the_same_blocks(text: str) -> None:
    assume(not _CODE_LIKE.search(text))  # the reference forgets the indentation there
    agrees(text)


@given(text=NESTED)
@example(text="-\n\n  foo")
@example(text="- a\n\n\n  b\n- c\n\n d")
@example(text="> ```\nlazy?")
@example(text="- > a\nlazy\n- b")
@example(text="- <!-- a\n\n# no\n-->")
@example(text="1. a\n2) b")
def test_generated_quotes_and_lists_end_at_the_same_lines(text: str) -> None:
    agrees(text)


def without_odd_line_ends(text: str) -> str:
    """What only some take for the end of a line; a test of its own says what we do."""
    return re.sub("[\x0b\x0c\x1c-\x1f\x85\u2028\u2029\x00]", "", text)


@given(text=MARKDOWN.map(without_odd_line_ends))
def test_generated_documents_have_the_same_blocks(text: str) -> None:
    assume(not re.search(r"(?<![^\r\n])``?[ \t]*(?![^\r\n])", text))  # see the crawlers' code
    agrees(text)


@given(rows=st.lists(st.sampled_from([*_DEFINITIONS, "text", "# head", "===", ""]), max_size=5))
def test_link_definitions_are_kept_and_are_never_part_of_a_heading(rows: list[str]) -> None:
    text = "\n".join(rows)
    expected = [seen for seen in by_reference(text) if seen.kind is Kind.HEADING]
    assert [seen for seen in by_us(text) if seen.kind is Kind.HEADING] == expected
    kept = "".join(text[block.start : block.end] for block in scan_blocks(text))
    assert "".join(kept.split()) == "".join(text.split())


def kinds(text: str) -> list[str]:
    return [block.kind.value for block in scan_blocks(text)]


@pytest.mark.parametrize(
    ("text", "ours", "theirs"),
    [
        # A paragraph may go on below a line that is indented like code, in nested quotes and in
        # items too; the reference forgets the indentation there.
        ("> > a\n    # b", ["quote"], ["quote", "code"]),
        ("   - a\n    # b", ["list"], ["list", "code"]),
        # An indented `>` is no quote mark.
        ("> >     a\n    > b", ["quote", "code"], ["quote"]),
        # A link definition is a paragraph while it is read: what may follow one follows it.
        ("[a]: b\n2. c", ["paragraph"], ["list"]),
        ("[a]: b\n    c", ["paragraph"], ["code"]),
        ("- [a]: b\nc", ["list"], ["list", "paragraph"]),
        # Crawlers' code and front matter are ours alone.
        ("`\na\n\nb\n`", ["code"], ["paragraph", "paragraph"]),
        ("---\na: b\n---", ["front_matter"], ["rule", "heading"]),
        # Lines of Unicode spaces are blank, so that no block is.
        ("a\n\u2003\nb", ["paragraph", "paragraph"], ["paragraph"]),
        ("\u2003", [], ["paragraph"]),
    ],
)
def test_known_differences_from_markdown_it(text: str, ours: list[str], theirs: list[str]) -> None:
    assert kinds(text) == ours
    assert [seen.kind.value for seen in by_reference(text)] == theirs


def test_containers_nested_deeper_than_anyone_writes_are_text() -> None:
    assert kinds(">" * 100_000 + " a\nlazy\n\nb") == ["quote", "paragraph"]
    assert kinds("- " * 100_000 + "a\n\nb") == ["list", "paragraph"]
