"""Who does the work of a command: this process, several of this machine, or Ray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from rag_nodes.executors import Pool, Ray

_WORKERS = "Workers"

Workers = Annotated[
    str | None,
    typer.Option(
        metavar="N|auto",
        help="Read, cut and embed in so many processes; auto: one for each core, as always with "
        "--engine; this process alone by default.",
        rich_help_panel=_WORKERS,
        show_default=False,
    ),
]
MeasuringWorkers = Annotated[
    str,
    typer.Option(
        "--workers",
        metavar="N|auto",
        help="Measure in so many processes, a row in each at a time; auto (the default): one for "
        "each core where documents and rows are many and are embedded offline, and else this "
        "process alone.",
        rich_help_panel=_WORKERS,
        show_default=False,
    ),
]
EngineName = Annotated[
    Literal["processes", "ray"] | None,
    typer.Option(
        "--engine",
        help="What the workers are: processes of this machine (the default), or tasks of Ray, "
        "which pay on several machines.",
        rich_help_panel=_WORKERS,
        show_default=False,
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Ray's head, on one of whose machines this runs; without it Ray is started here.",
        rich_help_panel=_WORKERS,
        show_default=False,
    ),
]
NumGpus = Annotated[
    float,
    typer.Option(
        "--num-gpus",
        metavar="SHARE",
        help="With --engine ray: graphics cards of each worker, such as 1 or 0.25.",
        rich_help_panel=_WORKERS,
        show_default=False,
    ),
]


def executor_of(
    workers: str,
    engine: Literal["processes", "ray"] | None,
    address: str | None = None,
    num_gpus: float = 0.0,
) -> Pool | Ray | Literal["auto"] | None:
    """What the options ask for; None for this process alone.

    Raises:
        ConfigurationError: an option of Ray for something else, or no such number.
    """
    count = _count(workers)
    if engine == "ray":
        from rag_nodes.executors import Ray

        return Ray(count, address=address, num_gpus=num_gpus)
    given = {"--ray-address": address, "--num-gpus": num_gpus}
    for option, value in given.items():
        if value not in (None, 0):
            raise ConfigurationError(f"{option} is for --engine ray; name that, or leave it out")
    if engine is None and count == 1:
        return None
    from rag_nodes.executors import Pool

    return "auto" if engine is None and count is None else Pool(count)


def _count(workers: str) -> int | None:
    """How many; None for as many as pay."""
    if workers == "auto":
        return None
    if workers.isascii() and workers.isdecimal() and int(workers) > 0:
        return int(workers)
    raise ConfigurationError(f"--workers {workers}: write a number from 1 on, or auto")
