"""Gradio's blocks without a way for visitors to make this server fetch things."""

from __future__ import annotations

import errno
import logging
from math import isfinite
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.waiting import share_fairly

if TYPE_CHECKING:
    from collections.abc import Iterator

DOES_NOT_FIT = "The page sent something that does not fit: reload it and try again."
_LONGEST = 200
"""Characters of a refusal; Gradio repeats what was sent."""

_DISK = frozenset({errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EMFILE, errno.EIO})
"""What a full, locked or broken disk answers."""

logger = logging.getLogger(__name__)


class GuardedBlocks(gr.Blocks):
    """Blocks whose events take files that were uploaded, and none from the web.

    Otherwise whoever sends an address in place of a file has this server download it, of any size
    and whatever the limit of uploads.
    """

    def queue(self, *args: Any, **options: Any) -> Any:
        """Let events wait, but not too many of one visitor."""
        super().queue(*args, **options)
        share_fairly(self._queue)
        return self

    async def process_api(self, block_fn: Any, inputs: list[Any], *rest: Any, **more: Any) -> Any:
        """Refuse files that came with a click: the page sends none.

        Raises:
            gr.Error: there was one.
        """
        event = more.get("event_data")
        if event is not None and any(_paths([data_of(event)])):
            raise _refused(DOES_NOT_FIT)
        return await super().process_api(block_fn, inputs, *rest, **more)

    async def preprocess_data(self, block_fn: Any, inputs: list[Any], *rest: Any) -> list[Any]:
        """Refuse addresses before Gradio looks at the inputs, and in words what it cannot take.

        Raises:
            gr.Error: an input names a file by its address, or is nothing its component takes.
        """
        if any("://" in path for path in _paths(inputs)):
            raise _refused("Upload the file: addresses are not opened.")
        if any(isinstance(one, float) and not isfinite(one) for one in inputs):
            raise _refused(DOES_NOT_FIT)
        try:
            processed: list[Any] = await super().preprocess_data(block_fn, inputs, *rest)
        except gr.Error as error:  # such as a number beyond the last page
            raise _refused(str(error.message)) from error
        except Exception as error:  # components raise whatever they stumble over
            level = logging.WARNING if _is_of_the_server(error) else logging.DEBUG
            logger.log(level, "inputs of an event were refused", exc_info=True)
            raise _refused(DOES_NOT_FIT) from error
        return processed


def data_of(event: gr.EventData) -> Any:
    """What the page sent along with an event."""
    return event._data  # noqa: SLF001 - Gradio's only way


def _is_of_the_server(error: Exception) -> bool:
    """Whether the disk is at fault and not what was sent: whoever runs the app has to know."""
    return isinstance(error, OSError) and error.errno in _DISK


def _refused(message: str) -> gr.Error:
    """What the visitor is told; a script's nonsense is no fault that the log has to show."""
    # Half characters would break the answer off.
    shown = message.encode("utf-8", "replace").decode()[:_LONGEST]
    return gr.Error(shown, print_exception=False)


def _paths(inputs: list[Any]) -> Iterator[str]:
    """What the files among the inputs are called, however deep they are."""
    left: list[Any] = [inputs]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            left += one.values()
            if isinstance(one.get("path"), str):
                yield one["path"]
        elif isinstance(one, list):
            left += one
