"""An evaluation as one HTML file that asks nothing of any server."""

from rag_nodes.evaluation.page.build import Cell, cell_of, html_of, told_apart
from rag_nodes.evaluation.page.plots import interval_plot, size_curve

__all__ = [
    "Cell",
    "cell_of",
    "html_of",
    "interval_plot",
    "size_curve",
    "told_apart",
]
