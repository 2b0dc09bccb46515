"""An evaluation as one HTML file that asks nothing of any server."""

from rag_nodes.evaluation.page.build import Cell, Matrix, MatrixLine, html_of, matrix
from rag_nodes.evaluation.page.plots import line_colour, size_curve

__all__ = [
    "Cell",
    "Matrix",
    "MatrixLine",
    "html_of",
    "line_colour",
    "matrix",
    "size_curve",
]
