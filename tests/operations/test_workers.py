"""`--workers` and `--ray-address`: who does an ingest."""

import pytest

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.models.executors import Pool, Ray
from rag_nodes.operations.ingesting import Working, executor_of

HEAD = "10.0.0.5:6379"


def test_without_options_and_with_one_worker_it_is_this_process() -> None:
    assert executor_of(Working()) is executor_of(Working(workers="1")) is None


@pytest.mark.parametrize("workers", ["0", "-1", "two", "1.5", "", "9" * 5000])
def test_invalid_numbers_of_workers_are_refused(workers: str) -> None:
    with pytest.raises(ConfigurationError, match="number from 1 on"):
        executor_of(Working(workers=workers))


def test_a_number_of_workers_means_processes_of_this_machine() -> None:
    executor = executor_of(Working(workers="3"))
    assert isinstance(executor, Pool)
    assert executor.workers == 3


def test_ray_is_used_where_its_address_is_given() -> None:
    executor = executor_of(Working(workers="5", ray_address=HEAD))
    assert isinstance(executor, Ray)
    assert (executor.workers, executor.address) == (5, HEAD)


def test_a_ray_without_workers_or_with_less_than_no_card_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        Ray(0, address=HEAD)
    with pytest.raises(ConfigurationError, match="num_gpus"):
        Ray(1, address=HEAD, num_gpus=-0.5)
