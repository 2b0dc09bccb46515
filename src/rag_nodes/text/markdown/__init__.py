"""Blocks of a Markdown text."""

from rag_nodes.text.markdown.blocks import LONGEST_HEADING, Block, Kind, scan_blocks

__all__ = [
    "LONGEST_HEADING",
    "Block",
    "Kind",
    "scan_blocks",
]
