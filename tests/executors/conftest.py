"""Models, parsers and a Ray for the tests of workers."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from ray_places import Running, is_of_ray, made_place

from rag_nodes.executors.ray import ray_session
from rag_nodes.models import Models
from rag_nodes.parsers import SpanNodeParser, get_parser


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
    """Ray with two graphics cards, as far as it knows."""
    with made_place() as place, ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            for name in filter(is_of_ray, list(os.environ)):
                patch.delenv(name)
            for name, value in place.environment.items():
                patch.setenv(name, value)
            patch.setenv("RAY_OVERRIDE_RESOURCES", json.dumps({"CPU": 4, "GPU": 2}))
            patch.setattr(tempfile, "tempdir", str(place.folder / "t"))
            ray = stack.enter_context(ray_session(3))
        yield Running(place, ray)
        processes = place.processes()
        assert len(processes) > 3
        stack.close()
        place.check_that_nothing_is_left_of(processes)
