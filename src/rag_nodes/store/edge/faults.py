"""What the engine raises into ours, each with collection and remedy."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rag_nodes import remedies
from rag_nodes.errors import RagNodesError, StoreDamagedError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def translated(location: str, collection: str) -> Iterator[None]:
    """Run calls of the engine so that whatever it raises comes out as a `StoreError`.

    Raises:
        StoreDamagedError: it gave up over bytes that it did not write.
        StoreError: it refused.
    """
    try:
        yield
    except (RagNodesError, ValueError, TypeError, KeyError, AttributeError):
        raise
    except BaseException as error:
        where = f"{location}: collection {collection!r}"
        doctor = remedies.command("doctor")
        # What it gives up on is no `Exception`.
        if type(error).__name__ == "PanicException":
            raise StoreDamagedError(
                f"{where} is damaged ({error}); `{doctor}` says what can be done"
            ) from error
        if not isinstance(error, Exception):
            raise
        # The engine raises bare exceptions, of which only the text tells anything.
        raise StoreError(
            f"{where}: {error}; check free disk space and permissions, and ask `{doctor}` whether "
            "the collection is damaged"
        ) from error
