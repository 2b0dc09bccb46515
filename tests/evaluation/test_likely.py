"""Without questions, a report names the setting that finds most passages, or a tie."""

from collections.abc import Mapping

import numpy as np
import pytest

from rag_nodes.evaluation.likely import likely
from rag_nodes.evaluation.plan import of_probes
from rag_nodes.evaluation.report import Row
from rag_nodes.evaluation.sign_flips import own_mean
from rag_nodes.evaluation.tables import ChunkStatistics, Cost, ReportDecision
from rag_nodes.parsers import get_parser


def row(name: str, recall: float, size: int = 1, means: Mapping[str, float] | None = None) -> Row:
    """A row that finds a share of the passages and takes so many bytes; "retrieval" is default."""
    parser = {"fingerprint": get_parser(name).fingerprint if name == "retrieval" else name}
    return Row(
        name, name, "own", parser, None, "", ChunkStatistics(mean=200.0),
        Cost(chunks=1, tokens=1, bytes=size),
        {**(means or {})}, own_mean(np.full(4, recall)), {}, (),
    )  # fmt: skip


def decide_likely(*rows: Row, in_use: tuple[str, ...] = (), measure: str = "") -> ReportDecision:
    return likely(rows, 700, 60, lambda _: {}, in_use, measure)


@pytest.mark.parametrize(("short", "same"), [(0.9, True), (0.1, False)])
def test_the_length_does_not_matter_if_short_and_long_probes_agree(
    short: float, same: bool
) -> None:
    of_200, of_2500 = of_probes(200), of_probes(2500)
    decision = decide_likely(
        row("a", 0.8, means={of_200: short, of_2500: 0.7}),
        row("b", 0.5, means={of_200: 0.5, of_2500: 0.6}),
    )
    assert (decision.take, decision.grade) == ("a", "likely")
    assert ("looks best, the same for short and long answers." in decision.words) is same


def test_settings_that_find_every_passage_are_named_as_tied() -> None:
    rows = [row("a", 1, 5), row("b", 1, 2), row("c", 1, 3), row("d", 1, 4), row("e", 0, 1)]
    decision = decide_likely(*rows)
    assert decision.take == "b"
    assert decision.headline[0] == (
        "For answers of a paragraph, 4 settings find as much: b, a and 2 others; take b, because "
        "it needs the least storage."
    )
    assert decision.headline[1].startswith(
        "This context is too large to tell settings apart: try a smaller context. Tested"
    )
    assert decision.grade == "not shown"
    assert decision.certainty == "Not decided yet: 4 of 5 settings may be best."
    kept = decide_likely(*rows, in_use=("e", "d", "a"))
    assert kept.take == "d"
    assert "; keep d, because you have it now." in kept.headline[0]
    default = decide_likely(*rows, row("retrieval", 1, 9))
    assert "; take retrieval, because it is the default." in default.headline[0]
    lower = decide_likely(row("a", 0.5), row("b", 0.5))
    assert " These passages do not tell them apart: add questions" in lower.words


def test_a_setting_that_wins_one_passage_is_not_called_likely() -> None:
    rows = (row("a", 57 / 60), row("b", 56 / 60), row("c", 0.5))
    decision = decide_likely(*rows)
    assert decision.take == "a"
    assert decision.headline[0] == (
        "For answers of a paragraph, 2 settings find as much, within 1 passage: a and b; take a, "
        "because it finds the most."
    )
    assert decision.grade == "not shown"
    assert decision.certainty == "Not decided yet: 2 of 3 settings may be best."
    assert "keep b, because you have it now." in decide_likely(*rows, in_use=("b",)).headline[0]
    assert decide_likely(*rows, in_use=("c",)).take == "a"


@pytest.mark.parametrize(("measure", "smaller"), [("recall@1500", "500"), ("recall@500", "250")])
def test_a_context_in_which_every_setting_finds_nearly_all_is_too_large(
    measure: str, smaller: str
) -> None:
    words = f" This context is too large to tell settings apart: try {smaller} tokens. "
    assert words in decide_likely(row("a", 1), row("b", 0.94), measure=measure).words
    assert words not in decide_likely(row("a", 1), row("b", 0.5), measure=measure).words


@pytest.mark.parametrize(("measure", "elsewhere"), [("recall@700", False), ("recall@1500", True)])
def test_the_expected_loss_is_said_to_come_from_another_context(
    measure: str, elsewhere: bool
) -> None:
    words = decide_likely(row("a", 1), row("b", 0), measure=measure).words
    assert ("collections, with a context of a different size, such" in words) is elsewhere
