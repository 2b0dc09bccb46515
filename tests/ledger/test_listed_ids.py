"""A ledger lists the ids of all that may be stored of a document, whatever is killed when."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.ledger import DepositRow, Ledger, merge

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

ONE, TWO, THREE = (str(UUID(int=number)) for number in (1, 2**127, 2**128 - 1))
ODD = "chapter 1 § 2"
"""As a store of another kind may name its points."""


def row(document_id: str, chunks: int, version: str = "v") -> DepositRow:
    return DepositRow("c", document_id, version, chunks=chunks)


def test_what_is_intended_is_listed_beside_what_was_there(ledger: Ledger) -> None:
    ledger.settle([row("a", 2)], {"a": [ONE, TWO]})

    ledger.intend("c", {"a": [TWO, THREE], "new": [ODD], "gone": []})

    assert ledger.former("c", ["a", "new", "gone", "unheard of"]) == {
        "a": (ONE, TWO, THREE),
        "new": (ODD,),
    }
    stored = ledger.deposits("c")
    assert (stored["a"].source_hash, stored["a"].stored_at, stored["a"].chunks) == ("", None, 2)
    assert {*stored} == {"a", "new", "gone"}
    assert ledger.unsettled("c") == ["a", "gone", "new"]


def test_what_is_settled_has_the_ids_that_are_given_and_no_others(ledger: Ledger) -> None:
    ledger.intend("c", {"a": [ONE, TWO], "b": [ONE]})

    ledger.settle([row("a", 1), row("b", 0, "w")], {"a": [THREE], "b": []})

    assert ledger.former("c", ["a", "b"]) == {"a": (THREE,)}
    assert ledger.deposits("c")["a"] == row("a", 1)._replace(stored_at=100.0)


def test_a_row_that_is_settled_without_ids_keeps_those_that_are_listed(ledger: Ledger) -> None:
    ledger.settle([row("a", 2), row("b", 1)], {"a": [ONE, TWO], "b": [THREE]})
    ledger.fail("c", {"a": "refused"})

    ledger.settle([row("a", 2, "next"), row("b", 1)], {"b": [ONE]})

    assert ledger.former("c", ["a", "b"]) == {"a": (ONE, TWO), "b": (ONE,)}
    assert ledger.deposits("c")["a"].error is None


@pytest.mark.parametrize(
    "ids",
    [
        ["1", "18446744073709551615"],
        [THREE.upper(), THREE],
        ["{" + ONE + "}", ONE.replace("-", ""), "a" * 16, "ß" * 500],
        ["f" * 8 + "-0000-4000-8000-000000000000"],
    ],
)
def test_ids_that_are_no_uuids_come_back_as_they_are(ledger: Ledger, ids: list[str]) -> None:
    ledger.intend("c", {"a": ids})
    ledger.intend("c", {"a": [ONE, *ids]})

    assert ledger.former("c", ["a"]) == {"a": (*ids, ONE)}
    assert ledger.totals("c") == (0, len(ids) + 1)


def test_only_what_must_outlive_a_power_cut_waits_for_the_disk(ledger: Ledger) -> None:
    said: list[str] = []
    ledger._connection.set_trace_callback(said.append)

    def waits() -> list[str]:
        return [one for one in said if one.startswith(("PRAGMA", "COMMIT"))]

    ledger.intend("c", {"a": [ONE]})
    assert waits() == ["PRAGMA synchronous = FULL", "COMMIT"]
    said.clear()
    with ledger.together():
        ledger.intend("c", {"a": [TWO]})
        ledger.settle([row("a", 1)], {"a": [TWO]})
    assert waits() == ["PRAGMA synchronous = FULL", "COMMIT"]
    said.clear()
    ledger.settle([row("a", 1)], {"a": [TWO]})
    assert waits() == ["PRAGMA synchronous = NORMAL", "COMMIT"]


def test_totals_are_of_settled_chunks_and_of_all_ids(ledger: Ledger) -> None:
    assert ledger.totals("c") == (0, 0)
    ledger.settle([row("a", 2), row("b", 1)], {"a": [ONE, TWO], "b": [THREE]})
    ledger.settle([DepositRow("other", "a", "v", chunks=9)], {"a": [ONE]})
    assert ledger.totals("c") == (3, 3)

    ledger.intend("c", {"a": [THREE]})
    assert ledger.totals("c") == (1, 4)

    ledger.forget_deposits("c", ["a"])
    assert ledger.totals("c") == (1, 1)


def test_what_the_store_says_replaces_all_rows_but_why_documents_failed(ledger: Ledger) -> None:
    ledger.settle([row("a", 2), row("failed", 1)], {"a": [ONE, TWO], "failed": [ONE]})
    ledger.settle([DepositRow("other", "a", "v", chunks=9)], {"a": [THREE]})
    ledger.fail("c", {"failed": "refused", "b": "too long"})

    ledger.adopt("c", ((row(one, 1, version), [TWO]) for one, version in (("b", ""), ("d", "w"))))

    found = ledger.deposits("c")
    assert {one: (of.source_hash, of.chunks, of.error) for one, of in found.items()} == {
        "failed": ("", 0, "refused"),
        "b": ("", 1, "too long"),
        "d": ("w", 1, None),
    }
    assert {of.stored_at for of in found.values()} == {100.0}
    assert ledger.former("c", ["a", "failed", "b", "d"]) == {"b": (TWO,), "d": (TWO,)}
    assert ledger.totals("c") == (2, 2)
    assert ledger.former("other", ["a"]) == {"a": (THREE,)}


def test_the_ledger_of_all_shards_lists_what_any_of_them_does(tmp_path: Path) -> None:
    settled, killed = tmp_path / "settled", tmp_path / "killed"
    for place, ids in ((settled, [ONE, ODD]), (killed, [TWO, ODD])):
        with Ledger(place) as part:
            part.settle([row("a", 2), row(place.name, 1)], {"a": ids, place.name: [THREE]})
            if place == killed:
                part.intend("c", {"a": [THREE]})

    for number, parts in enumerate([(settled, killed), (killed, settled)]):
        merge(tmp_path / str(number), parts)
        with Ledger(tmp_path / str(number)) as ledger:
            found = ledger.former("c", ["a", "settled", "killed"])
            assert {*found.pop("a")} == {ONE, TWO, THREE, ODD}
            assert found == {"settled": (THREE,), "killed": (THREE,)}
            assert ledger.unsettled("c") == ["a"]


class KilledError(BaseException):
    """The process ended here."""


class Killable:
    """A store of ids and a ledger, of which the process ends at a call, or in the midst of it.

    Args:
        ledger: the real one.
        stored: what the store has, by document.
        at: which call is the last one, and how much of it the store still does; None for none.
    """

    def __init__(
        self, ledger: Ledger, stored: dict[str, set[str]], at: tuple[int, int] | None
    ) -> None:
        self.ledger, self.stored, self._at, self._calls = ledger, stored, at, 0

    def check(self) -> None:
        """Whatever is stored is listed."""
        listed = self.ledger.former("c", [*self.stored])
        for document_id, ids in self.stored.items():
            assert ids <= {*listed.get(document_id, ())}

    def _left(self) -> int | None:
        """How much of this call is done before the process ends; None for all."""
        self._calls += 1
        return self._at[1] if self._at and self._calls == self._at[0] else None

    def intend(self, ids: Mapping[str, Collection[str]]) -> None:
        if self._left() is not None:
            raise KilledError
        self.ledger.intend("c", ids)
        self.check()

    def change(self, points: list[tuple[str, str]], *, deletes: bool) -> None:
        left = self._left()
        for document_id, one in points[:left]:
            change = self.stored[document_id].discard if deletes else self.stored[document_id].add
            change(one)
            self.check()
        if left is not None:
            raise KilledError

    def settle(self, ids: Mapping[str, Collection[str]]) -> None:
        if self._left() is not None:
            raise KilledError
        self.ledger.settle((row(one, len(of)) for one, of in ids.items()), ids)
        self.check()

    def ingest(self, units: list[dict[str, set[str]]]) -> None:
        """As an ingest does it: settled are several units at once, at a checkpoint."""
        for first in range(0, len(units), 2):
            done: dict[str, set[str]] = {}
            for unit in units[first : first + 2]:
                self.intend(unit)
                former = self.ledger.former("c", [*unit])
                points = [(one, point) for one, of in unit.items() for point in sorted(of)]
                self.change(points, deletes=False)
                gone = [(one, p) for one, of in former.items() for p in of if p not in unit[one]]
                self.change(gone, deletes=True)
                done |= unit
            self.settle(done)


IDS = st.sets(st.sampled_from([ONE, TWO, THREE, ODD, "7"]))
UNITS = st.lists(
    st.dictionaries(st.sampled_from("abcd"), IDS, min_size=1, max_size=3), min_size=1, max_size=4
)
RUNS = st.lists(
    st.tuples(UNITS, st.tuples(st.integers(1, 14), st.integers(0, 6))), min_size=1, max_size=4
)


@given(RUNS, UNITS, st.booleans())
def test_what_is_stored_is_listed_at_each_step_and_equal_at_the_end_of_a_run_that_ends(
    killed: list[tuple[list[dict[str, set[str]]], tuple[int, int]]],
    last: list[dict[str, set[str]]],
    is_opened_again: bool,
) -> None:
    stored: dict[str, set[str]] = defaultdict(set)
    everything: dict[str, set[str]] = {one: set() for one in "abcd"}
    with TemporaryDirectory() as folder:
        place = Path(folder) / "ledger.sqlite"
        ledger = Ledger(place)
        for units, at in killed:
            with suppress(KilledError):
                Killable(ledger, stored, at).ingest(units)
            if is_opened_again:
                ledger.close()
                ledger = Ledger(place)
            Killable(ledger, stored, None).check()

        Killable(ledger, stored, None).ingest([everything, *last])

        wanted = everything.copy()
        for unit in last:
            wanted |= unit
        listed = ledger.former("c", [*wanted])
        assert {one: {*listed.get(one, ())} for one in wanted} == wanted
        assert {one: stored[one] for one in wanted} == wanted
        chunks = sum(map(len, wanted.values()))
        assert ledger.totals("c") == (chunks, chunks)
        assert ledger.unsettled("c") == []
        ledger.close()
