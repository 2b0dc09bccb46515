"""Hypothesis strategies for texts that break careless chunkers."""
# ruff: noqa: RUF001 -- full-width and look-alike characters are the point

from hypothesis import strategies as st

_WORDS = st.sampled_from(
    [
        "the",
        "quick",
        "brown",
        "fox",
        "Dr.",
        "Smith",
        "U.S.",
        "e.g.",
        "3.14",
        "naïve",
        "café",
        "résumé",
        "Straße",
        "перевод",
        "don't",
        "token-overlap",
        "<|endoftext|>",
        "<|fim_prefix|>",
        "_snake_case_",
        "C++",
        "1,000.50",
        "x=y",
        "a/b",
        "https://a.b/c?d=e#f",
    ]
)
_ODD = st.sampled_from(
    [
        "👩‍👩‍👧‍👦",  # family: one cluster of seven code points
        "🇩🇪🇫🇷",
        "👍🏽",
        "e\u0301\u0323",
        "n\u0303",
        "각",  # Hangul jamo
        "한국어",
        "नमस्ते",
        "你好，世界。",
        "今日は。",
        "مرحبا بالعالم.",
        "שלום",
        "ﷺ",
        "\u200b",
        "\u00a0",
        "\u2003",
        "\u2028",
        "\x0b",
        "\x1c",
        "\ud800",
        "\ufeff",
        "\x00",
    ]
)
_SENTENCE = st.lists(st.one_of(_WORDS, _WORDS, _WORDS, _ODD), min_size=1, max_size=14).map(
    lambda words: " ".join(words) + "."
)
_NO_SPACES = st.one_of(
    st.text(alphabet="abcé", min_size=1, max_size=120),
    st.text(alphabet="漢字仮名。、", min_size=1, max_size=80),
    st.lists(st.sampled_from(["👩‍👩‍👧", "🇩🇪", "e\u0301", "\u0301"]), min_size=1, max_size=25).map(
        "".join
    ),
)
_LINE_END = st.sampled_from(["\n", "\n", "\r\n", "\r"])
_BLANKS = st.sampled_from(["\n\n", "\n\n\n", "\r\n\r\n", "\n \t\n", "\n", " ", "  ", "\t"])

_paragraph = st.lists(_SENTENCE, min_size=1, max_size=6).map(" ".join)
_heading = st.builds(
    lambda level, title: "#" * level + " " + title,
    st.integers(1, 6),
    st.one_of(_WORDS, st.just("Auth SMTP [\\#](\\#auth-smtp)"), st.just("")),
)
_setext = st.builds(lambda title, line: f"{title}\n{line}", _WORDS, st.sampled_from(["===", "---"]))
_fence = st.builds(
    lambda mark, body, closed: f"{mark}py\n{body}\n{mark if closed else ''}",
    st.sampled_from(["```", "~~~", "````"]),
    st.lists(st.one_of(_SENTENCE, st.just("# no heading"), st.just("")), max_size=6).map("\n".join),
    st.booleans(),
)
_code_span = st.lists(_SENTENCE, min_size=1, max_size=4).map(
    lambda rows: "`\n" + "\n".join(rows) + "\n`"
)
_indented = st.lists(_SENTENCE, min_size=1, max_size=3).map(
    lambda rows: "\n".join("    " + row for row in rows)
)
_list = st.lists(_SENTENCE, min_size=1, max_size=5).map(
    lambda rows: "\n".join(f"{'  ' * (index % 2)}- {row}" for index, row in enumerate(rows))
)
_table = st.lists(st.tuples(_WORDS, _WORDS), min_size=1, max_size=6).map(
    lambda rows: "| a | b |\n|---|---|\n" + "\n".join(f"| {a} | {b} |" for a, b in rows)
)
_comment = st.just("<!-- # hidden\n\nstill hidden -->")
_front_matter = st.just("---\ntitle: A title\n---\n")

PLAIN = st.one_of(
    st.just(""),
    st.sampled_from([" ", "\n\n", "\t\r\n ", "\u2003"]),
    st.text(max_size=60),
    _NO_SPACES,
    st.lists(st.one_of(_paragraph, _NO_SPACES, _ODD, _BLANKS), max_size=8).map("".join),
    st.lists(_paragraph, min_size=1, max_size=5).map("\n\n".join),
)
"""Text without structure: scripts, emoji sequences, line ends, special tokens, blank text."""

MARKDOWN = st.builds(
    lambda front, blocks, end: (front + "\n\n".join(blocks)).replace("\n", end),
    st.one_of(st.just(""), _front_matter),
    st.lists(
        st.one_of(
            _heading,
            _heading,
            _paragraph,
            _setext,
            _fence,
            _code_span,
            _indented,
            _list,
            _table,
            _comment,
            st.just("> quoted\nlazy"),
            st.just("* * *"),
        ),
        max_size=9,
    ),
    _LINE_END,
)
"""Markdown with every kind of block, in any order, with any line end."""

TEXTS = st.one_of(PLAIN, MARKDOWN)
