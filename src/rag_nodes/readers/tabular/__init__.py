"""CSV and TSV files in, one block of `column: value` lines per row out."""

from rag_nodes.readers.tabular.reader import read_tabular

__all__ = ["read_tabular"]
