"""An evaluation as one HTML file that asks nothing of any server."""

from rag_nodes.evaluation.page.build import html_of
from rag_nodes.evaluation.page.plots import interval_plot, size_curve

__all__ = ["html_of", "interval_plot", "size_curve"]
