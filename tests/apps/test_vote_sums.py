"""Many votes together: counted by hand, shown in words, and nothing in the file runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pytest
from hostile_views import PAYLOADS, inert, shown

from rag_nodes.apps.votes.store import Vote, Votes, question_of, voter_of
from rag_nodes.apps.votes.sums import Contender, Summary
from rag_nodes.apps.votes.view import votes as panel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SumVotes = Callable[[Iterable[Vote]], Summary]

A = Contender(name="fixed", fingerprint="fa", settings="500 characters")
B = Contender(name="heading", fingerprint="hb")
C = Contender(name="semantic", fingerprint="sc")


def _best(*winners: Contender, among: Sequence[Contender] = (A, B, C), **changed: Any) -> Vote:
    values: dict[str, Any] = {
        "kind": "best",
        "ballot": "b",
        "voter": voter_of("me"),
        "question": question_of("Why?"),
        "parsers": tuple(among),
        "models": "offline",
        "winners": tuple(one.name for one in winners),
        "blind": True,
    }
    return Vote(**{**values, **changed})


def _rated(one: Contender, *, helpful: bool) -> Vote:
    winners = (one.name,) if helpful else ()
    return _best(among=[one], kind="helpful", blind=False, winners=winners)


@pytest.fixture
def sum_votes(tmp_path: Path) -> SumVotes:
    """What a new database makes of some votes, each on a ballot of its own."""

    def sum_votes(given: Iterable[Vote]) -> Summary:
        votes = Votes(tmp_path / f"{token_hex(4)}.sqlite3")
        for number, one in enumerate(given):
            votes.add(one.model_copy(update={"ballot": str(number)}))
        return votes.summary()

    return sum_votes


VOTES = [
    _best(A),
    _best(A, among=(C, A)),
    _best(B),
    _best(A, B, C),
    _best(),
    _rated(A, helpful=True),
    _rated(A, helpful=False),
]


def test_wins_ties_and_ratings_are_counted_per_parser(sum_votes: SumVotes) -> None:
    summary = sum_votes(VOTES)
    assert summary.votes == 7
    rows = {one.parser.name: one for one in summary.parsers}
    assert [(name, one.compared, one.wins, one.ties) for name, one in sorted(rows.items())] == [
        ("fixed", 5, 2, 1),
        ("heading", 4, 1, 1),
        ("semantic", 5, 0, 1),
    ]
    assert (rows["fixed"].helpful, rows["fixed"].rated) == (1, 2)
    assert rows["heading"].helpful_share is None
    share = rows["fixed"].win_share
    assert share is not None
    assert (share.low, share.high) == pytest.approx((0.1176, 0.7693), abs=5e-5)


def test_pairs_count_who_won_over_whom_whatever_the_order_of_columns(sum_votes: SumVotes) -> None:
    pairs = {(one.first.name, one.second.name): one for one in sum_votes(VOTES).pairs}
    counted = {names: (one.wins, one.losses, one.ties) for names, one in pairs.items()}
    assert counted == {
        ("fixed", "heading"): (1, 1, 1),
        ("fixed", "semantic"): (2, 0, 1),
        ("heading", "semantic"): (1, 0, 1),
    }


def test_a_vote_on_names_that_were_known_is_no_blind_win(sum_votes: SumVotes) -> None:
    summary = sum_votes([_best(A, blind=False)])
    assert summary.votes == 1
    assert [one.compared for one in summary.parsers] == [0, 0, 0]
    assert summary.pairs == ()


def test_the_same_parser_with_other_settings_is_another_row(sum_votes: SumVotes) -> None:
    other = Contender(name="fixed", fingerprint="fz", settings="1000 characters")
    html = panel(sum_votes([_best(A, among=(A, B)), _best(other, among=(other, B))]))
    assert "500 characters" in html
    assert "1000 characters" in html
    assert html.count("Fixed size") >= 2


def test_intervals_are_said_in_words_and_few_votes_are_called_few(sum_votes: SumVotes) -> None:
    html = panel(sum_votes(VOTES))
    assert "40 % of 5" in html
    assert "12 to 77 %" in html
    assert "few votes" in html
    assert "few votes" not in panel(sum_votes([_best(A)] * 30))
    assert 'aria-hidden="true"' in html


def test_an_empty_panel_says_how_to_vote(sum_votes: SumVotes) -> None:
    html = panel(sum_votes([]))
    assert "None yet" in html
    assert "Delete" not in html


def test_votes_are_deleted_only_after_asking(sum_votes: SumVotes) -> None:
    assert 'data-act="deleted"' not in panel(sum_votes(VOTES))
    assert 'data-act="deleted"' in panel(sum_votes(VOTES), asking=True)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_file_full_of_hostile_names_is_shown_and_nothing_of_it_becomes_an_element(
    sum_votes: SumVotes, payload: str
) -> None:
    visible = payload.replace("\ud800", "?")
    one = Contender(name=visible, fingerprint=f"1{visible}", settings=visible)
    text = inert(panel(sum_votes([_best(one, among=(one, B)), _rated(one, helpful=True)])))
    assert shown(visible) in text
