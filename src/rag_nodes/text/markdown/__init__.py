"""Where the blocks of a Markdown text are, and which headings stand above any place in it."""

from rag_nodes.text.markdown.blocks import LONGEST_HEADING, Block, Kind, each_block, scan_blocks
from rag_nodes.text.markdown.headings import Heading, HeadingTree

__all__ = [
    "LONGEST_HEADING",
    "Block",
    "Heading",
    "HeadingTree",
    "Kind",
    "each_block",
    "scan_blocks",
]
