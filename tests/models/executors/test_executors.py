"""Laws that every executor keeps: in this process, in several, and on Ray."""

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import executor_units as units
import pytest
from hostile_parsers import is_running, wait_until_gone
from llama_index.core.rate_limiter import TokenBucketRateLimiter
from own_models import LettersEmbedding
from ray_places import Running

from rag_nodes.core.errors import CancelledError, ConfigurationError, EngineError
from rag_nodes.core.processes import Interrupt, interruptible
from rag_nodes.models.executors import Executor, Inline, LostUnit, Pool, Ray
from rag_nodes.models.executors import executor as executors


def executor_of(kind: str, request: pytest.FixtureRequest) -> Executor:
    if kind == "ray":
        return Ray(2, address=request.getfixturevalue("running").address)
    return Inline() if kind == "inline" else Pool(2)


@pytest.fixture(params=["inline", "pool", "ray"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    with closing(executor_of(request.param, request)) as opened:
        yield opened


@pytest.fixture(params=["pool", "ray"])
def processes(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """An executor with other processes."""
    with closing(executor_of(request.param, request)) as opened:
        yield opened


@pytest.fixture
def pool() -> Iterator[Pool]:
    with closing(Pool(2)) as opened:
        yield opened


def numbers_in(folder: Path) -> list[int]:
    return [int(path.name) for path in folder.iterdir()]


def test_each_unit_is_done_once_and_what_the_work_raises_is_raised(executor: Executor) -> None:
    assert sorted(executor.run(units.twice, 2, range(40))) == [(n, 2 * n) for n in range(40)]
    assert list(executor.run(units.twice, 2, ())) == []
    with pytest.raises(ValueError, match="boom"):
        list(executor.run(units.raising, ValueError, range(6)))
    assert sorted(executor.run(units.twice, 1, range(3))) == [(0, 0), (1, 1), (2, 2)]
    with pytest.raises(LookupError, match="no such model"):
        list(executor.run(units.twice, units.Refusing(), [1]))


def test_an_error_that_cannot_be_pickled_is_raised_by_its_class(executor: Executor) -> None:
    with pytest.raises((units.PreciseError, EngineError), match=r"PreciseError|one and two"):
        list(executor.run(units.raising, units.PreciseError, range(6)))


def test_units_are_taken_as_there_is_room_and_a_cancelled_run_ends(executor: Executor) -> None:
    taken, interrupt = iter(range(100_000)), Interrupt()
    with interruptible(interrupt):
        run = executor.run(units.twice, 2, taken)
        next(run)
        assert next(taken) <= executor.workers + 1
        interrupt.set()
        with pytest.raises(CancelledError):
            list(run)


def test_only_the_crashing_part_of_a_unit_is_lost(processes: Executor, tmp_path: Path) -> None:
    given = [units.Files((at, at + 1)) for at in range(0, 40, 2)]
    outcomes = list(processes.run(units.killed_in, units.Poison(21, tmp_path), given))
    lost = [outcome for outcome in outcomes if isinstance(outcome[1], LostUnit)]
    assert [unit for unit, _ in lost] == [units.Files((21,))]
    done = [
        number for unit, result in outcomes if result == unit.numbers for number in unit.numbers
    ]
    assert sorted(done) == [n for n in range(40) if n != 21]
    # A pool is told which part is in hand; Ray goes by halves.
    assert len(numbers_in(tmp_path)) == (2 if isinstance(processes, Pool) else 3)


def test_processes_that_are_killed_cost_no_unit(processes: Executor, tmp_path: Path) -> None:
    over, killed = threading.Event(), list[int]()

    def kill_one() -> None:  # not more: a unit that dies twice would be given up
        while not (over.wait(0.1) or killed):
            if alive := [number for number in numbers_in(tmp_path) if is_running(number)]:
                killed.append(alive[0])
                os.kill(alive[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    outcomes = processes.run(units.slow, str(tmp_path), range(50))
    assert sorted(outcomes) == [(n, n) for n in range(50)]
    over.set()
    killer.join()
    assert killed


def test_relative_names_are_those_of_the_same_files_everywhere(
    processes: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("made of steel", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert list(processes.run(units.content, Path("docs"), ["a.md"])) == [("a.md", "made of steel")]


def test_a_machine_without_the_current_folder_reads_what_is_named_in_full(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("made of steel", "utf-8")
    monkeypatch.setattr(executors.Path, "cwd", lambda: tmp_path / "only here")
    assert list(pool.run(units.content, tmp_path, ["a.md"])) == [("a.md", "made of steel")]


def test_processes_stay_for_the_next_run_of_the_same_work(processes: Executor) -> None:
    first = {pid for _, pid in processes.run(units.where, 0, range(20))}
    assert os.getpid() not in first
    assert first & {pid for _, pid in processes.run(units.where, 0, range(20))}


def test_a_run_that_is_closed_half_way_ends_what_is_under_way(
    processes: Executor, tmp_path: Path
) -> None:
    run = processes.run(units.announcing_but_first, str(tmp_path), range(9))
    assert next(run) == (0, None)
    while not (pids := numbers_in(tmp_path)):
        pass
    run.close()
    for pid in pids:
        wait_until_gone(pid)


def test_unpicklable_arguments_are_errors_that_name_them(
    processes: Executor,
) -> None:
    limited = LettersEmbedding(rate_limiter=TokenBucketRateLimiter(requests_per_minute=1))
    message = "^LettersEmbedding cannot be pickled .* run without workers"
    with pytest.raises(ConfigurationError, match=message):
        list(processes.run(units.twice, limited, range(3)))
    with pytest.raises(ConfigurationError, match="<lambda> is not a function of a module"):
        list(processes.run(units.twice, lambda: 0, range(3)))


def test_workers_log_here_once_per_process_and_print_to_stderr(
    processes: Executor, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.WARNING):
        assert len(list(processes.run(units.talking, 0, range(6)))) == 6
    messages = [record.message for record in caplog.records if record.name == "a.library"]
    assert messages == ["of all units"] * len(messages)
    assert messages
    assert capfd.readouterr().out == ""


def test_a_unit_is_not_blamed_for_a_process_that_had_died_before(
    pool: Pool, tmp_path: Path
) -> None:
    recipe = str(tmp_path)
    assert len(list(pool.run(units.killed_once, recipe, [1, 2]))) == 2
    for pid in (idle := [child._process.pid for child in pool._children._idle]):
        os.kill(pid, signal.SIGKILL)
        wait_until_gone(pid)
    assert idle
    # It ends one process more, by itself: one blamed for both would be lost.
    assert list(pool.run(units.killed_once, recipe, [3])) == [(3, 3)]


def test_processes_that_die_before_they_begin_end_the_run(
    processes: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "_BARREN", 0)  # each takes seconds to start on Ray
    monkeypatch.setattr(processes, "workers", 1)
    with pytest.raises(EngineError, match=r"end before they start \((exit code 3|lost by Ray)"):
        list(processes.run(units.twice, units.Unborn(), range(3)))


def test_a_worker_of_ray_has_the_graphics_card_that_it_was_to_have(running: Running) -> None:
    with closing(Ray(1, address=running.address, num_gpus=1)) as opened:
        [(_, card)] = opened.run(units.cards, 0, [1])
    assert card in {"0", "1"}


@pytest.mark.parametrize("workers", [0, -1])
def test_an_executor_has_a_worker(workers: int) -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        Pool(workers)


# A script without a `__main__` guard.
DRIVER = """
import sys
from rag_nodes.models.executors import Pool
from executor_units import Unready, announcing, twice
how, said = sys.argv[1:]
given = (announcing, said) if how == "unit" else (twice, Unready(said))
list(Pool(2).run(*given, range(9)))
"""


@pytest.mark.parametrize("where", ["unit", "start"])
def test_no_process_outlives_the_one_that_started_it(tmp_path: Path, where: str) -> None:
    script, pid_folder = tmp_path / "script.py", tmp_path / "said"
    script.write_text(DRIVER, encoding="utf-8")
    pid_folder.mkdir()
    driver = subprocess.Popen(
        [sys.executable, script, where, pid_folder],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        while len(pids := numbers_in(pid_folder)) < 2:
            assert driver.poll() is None, driver.communicate()[1]
    finally:
        driver.kill()
        errors = driver.communicate()[1]
    for pid in pids:
        wait_until_gone(pid, seconds=2)
    assert "Traceback" not in errors
