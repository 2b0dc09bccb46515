"""Workers of an ingest on Ray: on one machine, or on all machines of a cluster."""

from rag_nodes.workers.on_ray.engine import RayEngine

__all__ = ["RayEngine"]
