"""Lines before parts that begin inside a table are paid for from the budget."""

from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.text.filling import Lead, Ranked, fill, lead_tokens
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import count_tokens

ROWS = "".join(f"| valve {n} | {n * 7} bar |\n" for n in range(60))
TEXT = f"Before the table.\n\n| Valve | Pressure |\n|---|---|\n{ROWS}"
TABLE = Span(TEXT.index("| Valve") + 1, len(TEXT))
LINE = "Table: Valve | Pressure"
HALF = TEXT.index("| valve 30")


def _ranked_table(start: int, end: int, core: Span | None = None) -> Ranked:
    pages = (Lead(Span(TABLE.start, HALF), LINE, "1"), Lead(Span(HALF, TABLE.end), LINE, "2"))
    return Ranked("a", Span(start, end), TEXT[start:end], core, pages)


def _paid_tokens(parts: list[Span]) -> int:
    places = {(at.start >= HALF) for at in parts if TABLE.start <= at.start}
    return lead_tokens(LINE) * len(places)


def test_the_line_is_paid_for_once_in_each_place() -> None:
    first, second, third = (TEXT.index(f"| valve {n} ") for n in (5, 10, 40))
    ranked = [_ranked_table(start, start + 40) for start in (first, second, third)]
    words = sum(count_tokens(node.text) for node in ranked)
    assert fill(ranked, None).tokens == words + 2 * lead_tokens(LINE)


def test_text_that_begins_before_the_table_costs_no_line() -> None:
    whole = _ranked_table(0, len(TEXT))
    assert fill([whole], None).tokens == count_tokens(TEXT)


@given(
    st.lists(
        st.tuples(*[st.integers(0, len(TEXT))] * 3).map(sorted).filter(lambda at: at[0] < at[2]),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 400),
    st.booleans(),
)
def test_text_and_lines_are_within_the_budget(
    spans: list[list[int]], budget: int, exact: bool
) -> None:
    ranked = [
        _ranked_table(start, end, Span(middle, end) if middle < end else None)
        for start, middle, end in spans
    ]
    filled = fill(ranked, budget, exact=exact)
    parts = [part for own in filled.parts for part in own]
    tokens = sum(count_tokens(part.of(TEXT)) for part in parts) + _paid_tokens(parts)
    assert tokens == filled.tokens <= budget
