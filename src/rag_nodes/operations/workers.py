"""Who does the work: this process, several of this machine, or Ray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from rag_nodes.errors import ConfigurationError
from rag_nodes.operations.base import OWNER, Flag, Request

if TYPE_CHECKING:
    from rag_nodes.executors import Pool, Ray


class Working(Request):
    """Other processes that work along."""

    panel: ClassVar[str] = "Workers"

    workers: Annotated[str | None, OWNER, Flag(metavar="N|auto")] = None
    """Worker processes; auto: one for each core, the default with --engine."""
    engine: Annotated[Literal["processes", "ray"] | None, OWNER] = None
    """Processes of this machine, the default, or tasks of a Ray cluster."""
    ray_address: Annotated[str | None, OWNER, Flag(metavar="HOST:PORT")] = None
    """Ray's head, on one of whose machines this runs; without it Ray is started here."""


def executor_of(request: Working) -> Pool | Ray | None:
    """What is asked for; None for this process alone.

    Raises:
        ConfigurationError: an option of Ray for something else, or no such number.
    """
    usual = "auto" if request.engine else "1"
    count = _count(usual if request.workers is None else request.workers)
    if request.engine == "ray":
        from rag_nodes.executors import Ray

        return Ray(count, address=request.ray_address)
    if request.ray_address is not None:
        raise ConfigurationError("--ray-address is for --engine ray; name that, or leave it out")
    if request.engine is None and count == 1:
        return None
    from rag_nodes.executors import Pool

    return Pool(count)


def _count(workers: str) -> int | None:
    """How many; None for one for each core."""
    if workers == "auto":
        return None
    if workers.isascii() and workers.isdecimal() and int(workers) > 0:
        return int(workers)
    raise ConfigurationError(f"--workers {workers}: write a number from 1 on, or auto")
