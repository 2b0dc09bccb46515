"""Models, parsers and a Ray for the tests of workers."""

import gc
import json
import logging
import os
import signal
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from ray_places import Place, Running, is_of_ray, make_place, wait_for_all

from rag_nodes.models import Models
from rag_nodes.models.executors.ray import sigterm_kept
from rag_nodes.parsers import SpanNodeParser, get_parser

STARTS = 3


@pytest.fixture(scope="session")
def models() -> Models:
    return Models.of(embed_model="lexical")


@pytest.fixture(scope="session")
def parsers() -> dict[str, SpanNodeParser]:
    return {
        "heading": get_parser("heading", chunk_size=60, min_chunk_size=5),
        "family": get_parser("parent-child"),
        "semantic": get_parser("semantic", chunk_size=96, min_chunk_size=8),
    }


@pytest.fixture(scope="session")
def running() -> Iterator[Running]:
    """A cluster of one machine with two graphics cards, as far as it knows."""
    with make_place() as place:
        with pytest.MonkeyPatch.context() as patch:  # Ray alone has it, and no other test
            for name in filter(is_of_ray, list(os.environ)):
                patch.delenv(name)
            for name, value in place.environment.items():
                patch.setenv(name, value)
            patch.setenv("RAY_OVERRIDE_RESOURCES", json.dumps({"CPU": 4, "GPU": 2}))
            ray = start_ray(place)
        yield Running(place, ray)
        processes = place.processes()
        assert len(processes) > 3
        ray.shutdown()
        wait_for_all(processes)


def start_ray(place: Place) -> Any:
    """Start Ray, which gives its processes 30 s: on a busy machine more than once."""
    import ray

    options: dict[str, Any] = {
        "address": "local",
        "include_dashboard": False,
        "object_store_memory": 80 * 2**20,
        "log_to_driver": False,  # it would write what workers print to stdout
        "logging_level": logging.ERROR,
        "_temp_dir": str(place.cluster),
    }
    # A later test may raise the signal, and Ray's handler of it ends the cluster.
    with sigterm_kept(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # of a start that failed, by its processes
        for _ in range(STARTS - 1):
            try:
                ray.init(**options)
            except Exception:  # noqa: BLE001 - Ray has no class of its own for it
                ray.shutdown()
                for number in place.processes():  # which Ray leaves
                    os.kill(number, signal.SIGKILL)
                gc.collect()
            else:
                return ray
        ray.init(**options)
    return ray
