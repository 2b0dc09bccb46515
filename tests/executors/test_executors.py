"""Laws that every executor keeps; those of Ray are tried where there is one, in `tests/workers`."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import executor_units as units
import pytest
from hostile_parsers import wait_until_gone

from rag_nodes.errors import CancelledError, EngineError
from rag_nodes.executors import Executor, Inline, LostUnit, Pool
from rag_nodes.processes import Interrupt, interruptible

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=["inline", "pool"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    with closing(Inline() if request.param == "inline" else Pool(2)) as made:
        yield made


@pytest.fixture
def pool() -> Iterator[Pool]:
    with closing(Pool(2)) as made:
        yield made


def test_each_unit_is_done_once(executor: Executor) -> None:
    assert sorted(executor.run(units.twice, 2, range(40))) == [(n, 2 * n) for n in range(40)]
    assert list(executor.run(units.twice, 2, ())) == []


def test_units_are_taken_as_there_is_room(executor: Executor) -> None:
    taken = iter(range(100))
    with closing(executor.run(units.twice, 2, taken)) as run:
        next(run)
    assert next(taken) <= executor.workers + 1


@pytest.mark.parametrize(
    ("kind", "said", "text"),
    [
        (ValueError, ValueError, "boom"),
        (units.PreciseError, (units.PreciseError, EngineError), "one and two"),
    ],
)
def test_what_the_work_raises_is_raised(
    executor: Executor,
    kind: type[Exception],
    said: type[Exception] | tuple[type[Exception], ...],
    text: str,
) -> None:
    with pytest.raises(said, match=text):
        list(executor.run(units.raising, kind, range(6)))
    assert sorted(executor.run(units.twice, 1, range(3))) == [(0, 0), (1, 1), (2, 2)]


def test_what_a_recipe_raises_is_raised(executor: Executor) -> None:
    with pytest.raises(LookupError, match="no such model"):
        list(executor.run(units.twice, units.Refusing(), [1]))


def test_a_cancelled_run_ends(executor: Executor) -> None:
    interrupt = Interrupt()
    with interruptible(interrupt):
        run = executor.run(units.twice, 2, range(100_000))
        next(run)
        interrupt.set()
        with pytest.raises(CancelledError):
            list(run)


def test_a_unit_that_kills_its_process_is_lost_and_no_other(pool: Pool) -> None:
    found = dict(pool.run(units.killed_by, 17, range(40)))
    assert found.pop(17) == LostUnit("SIGKILL")
    assert found == {n: n for n in range(40) if n != 17}


def test_of_a_unit_that_can_be_halved_only_the_part_is_lost_that_kills(pool: Pool) -> None:
    given = [units.Files(tuple(range(at, at + 8))) for at in range(0, 40, 8)]
    found = list(pool.run(units.killed_in, 21, given))
    assert [one for one in found if isinstance(one[1], LostUnit)] == [
        (units.Files((21,)), LostUnit("SIGKILL"))
    ]
    done = [number for unit, result in found if result == unit.numbers for number in unit.numbers]
    assert sorted(done) == [n for n in range(40) if n != 21]


def test_processes_that_are_killed_cost_no_unit(pool: Pool, tmp_path: Path) -> None:
    assert sorted(pool.run(units.killed_once, str(tmp_path), range(12))) == [
        (n, n) for n in range(12)
    ]
    assert len(list(tmp_path.iterdir())) == 4


def test_processes_stay_for_the_next_run_of_the_same_work(pool: Pool) -> None:
    first = {pid for _, pid in pool.run(units.where, 0, range(20))}
    assert os.getpid() not in first
    assert {pid for _, pid in pool.run(units.where, 0, range(20))} <= first
    pool.close()
    assert first.isdisjoint(pid for _, pid in pool.run(units.where, 0, range(4)))


def test_a_unit_is_not_blamed_for_a_process_that_had_died_before(
    pool: Pool, tmp_path: Path
) -> None:
    recipe = str(tmp_path)
    assert len(list(pool.run(units.killed_once, recipe, [1, 2]))) == 2
    idle = [one.pid for one in multiprocessing.active_children() if one.pid]
    assert len(idle) == 2
    for pid in idle:
        os.kill(pid, signal.SIGKILL)
        wait_until_gone(pid)
    # It ends one process more, by itself: one blamed for both would be lost.
    assert list(pool.run(units.killed_once, recipe, [3])) == [(3, 3)]


def test_processes_that_die_before_they_begin_end_the_run(pool: Pool) -> None:
    with pytest.raises(EngineError, match="die before they begin \\(exit code 3\\)"):
        list(pool.run(units.twice, units.Unborn(), range(3)))


def test_what_is_logged_is_logged_here_once_for_each_process_and_prints_go_to_stderr(
    pool: Pool, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.WARNING):
        assert len(list(pool.run(units.talking, 0, range(6)))) == 6
    assert 1 <= len(caplog.records) <= 2
    assert {(one.name, one.message) for one in caplog.records} == {("a.library", "of all units")}
    assert capfd.readouterr().out == ""


DRIVER = """
import sys
from rag_nodes.executors import Pool
from executor_units import announcing
list(Pool(2).run(announcing, sys.argv[1], range(9)))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_process_outlives_the_one_that_started_it(tmp_path: Path, how: signal.Signals) -> None:
    # A script without a `__main__` guard.
    script, said = tmp_path / "script.py", tmp_path / "said"
    script.write_text(DRIVER, encoding="utf-8")
    said.mkdir()
    root = str(Path(__file__).parents[1])
    driver = subprocess.Popen(
        [sys.executable, script, said],
        env={**os.environ, "PYTHONPATH": root},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        while len(pids := [int(one.name) for one in said.iterdir()]) < 2:
            assert driver.poll() is None, driver.communicate()[1]
        # Ctrl-C reaches all of them.
        (os.killpg if how == signal.SIGINT else os.kill)(driver.pid, how)
        told = driver.communicate()[1]
    finally:
        driver.kill()
    for pid in pids:
        wait_until_gone(pid)
    assert told.count("Traceback") == (how == signal.SIGINT)
