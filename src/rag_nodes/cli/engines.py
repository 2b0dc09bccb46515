"""Who does an ingest: this process, several of this machine, or Ray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from rag_nodes.pipeline.ingest import IngestEngine

_WORKERS = "Workers"

Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Read, cut and embed in so many processes; one for each core where only --engine is "
        "given.",
        rich_help_panel=_WORKERS,
        show_default=False,
    ),
]
EngineName = Annotated[
    Literal["processes", "ray"] | None,
    typer.Option(
        "--engine",
        help="What the workers are: processes of this machine (the default), or actors of Ray, "
        "which pay on several machines with a server as store.",
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


def engine_of(
    workers: int | None, engine: Literal["processes", "ray"] | None, address: str | None
) -> IngestEngine | None:
    """What the options ask for; None for this process alone.

    Raises:
        ConfigurationError: an address of Ray for something else.
    """
    if address is not None and engine != "ray":
        raise ConfigurationError("--ray-address is for --engine ray; name that, or leave it out")
    if engine == "ray":
        from rag_nodes.workers.on_ray import RayEngine

        return RayEngine(workers, address=address)
    if workers is None and engine is None:
        return None
    from rag_nodes.workers import ProcessEngine

    return ProcessEngine(workers)
