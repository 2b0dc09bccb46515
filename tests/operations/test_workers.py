"""`--workers`, `--engine` and what Ray is told: who does an ingest."""

import pytest

from rag_nodes.errors import ConfigurationError
from rag_nodes.executors import Pool, Ray
from rag_nodes.operations.ingesting import Working, executor_of


def test_without_options_and_with_one_worker_it_is_this_process() -> None:
    assert executor_of(Working()) is executor_of(Working(workers="1")) is None


@pytest.mark.parametrize("workers", ["0", "-1", "two", "1.5", ""])
def test_what_is_no_number_of_workers_is_refused(workers: str) -> None:
    with pytest.raises(ConfigurationError, match="number from 1 on"):
        executor_of(Working(workers=workers))


def test_a_number_of_workers_means_processes_of_this_machine() -> None:
    executor = executor_of(Working(workers="3"))
    assert isinstance(executor, Pool)
    assert executor.workers == 3


def test_ray_is_used_where_it_is_named_with_the_address_that_is_given() -> None:
    executor = executor_of(Working(workers="5", engine="ray", ray_address="10.0.0.5:6379"))
    assert isinstance(executor, Ray)
    assert (executor.workers, executor.address) == (5, "10.0.0.5:6379")


@pytest.mark.parametrize("engine", [None, "processes"])
def test_an_address_of_ray_for_something_else_is_refused(engine: None) -> None:
    with pytest.raises(ConfigurationError, match="--ray-address is for --engine ray"):
        executor_of(Working(workers="2", engine=engine, ray_address="10.0.0.5:6379"))


def test_an_engine_without_workers_or_with_less_than_no_card_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        Ray(0)
    with pytest.raises(ConfigurationError, match="num_gpus"):
        Ray(1, num_gpus=-0.5)
