"""Lines as an engine finds them on a page in, lines as they are read out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.engines.bidi import in_reading_order
from rag_nodes.readers.pdf.engines.doubles import without_doubles
from rag_nodes.readers.pdf.engines.fields import with_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.readers.pdf.engines.flow import FlowLine
    from rag_nodes.readers.pdf.engines.protocol import FormField


def as_read(lines: list[FlowLine], fields: Sequence[FormField]) -> list[FlowLine]:
    """Return the lines of a page as they are read; the same list if nothing differs.

    Text that is printed twice is there once, right-to-left text is in its order, and values of
    fields stand beside their labels.
    """
    return with_fields(in_reading_order(without_doubles(lines)), fields)
