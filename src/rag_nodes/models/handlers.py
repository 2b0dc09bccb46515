"""A base for LlamaIndex callback handlers that care about one event and nothing else."""

from __future__ import annotations

from typing import Any

from llama_index.core.callbacks import CBEventType
from llama_index.core.callbacks.base_handler import BaseCallbackHandler


class QuietHandler(BaseCallbackHandler):
    """Does nothing at any event; a subclass overrides the one it waits for."""

    def __init__(self) -> None:
        super().__init__(event_starts_to_ignore=[], event_ends_to_ignore=[])

    def on_event_start(
        self,
        event_type: CBEventType,
        payload: dict[str, Any] | None = None,
        event_id: str = "",
        parent_id: str = "",
        **kwargs: Any,
    ) -> str:
        """Nothing to do."""
        del event_type, payload, parent_id, kwargs
        return event_id

    def on_event_end(
        self,
        event_type: CBEventType,
        payload: dict[str, Any] | None = None,
        event_id: str = "",
        **kwargs: Any,
    ) -> None:
        """Nothing to do."""

    def start_trace(self, trace_id: str | None = None) -> None:
        """Nothing to do."""

    def end_trace(
        self, trace_id: str | None = None, trace_map: dict[str, list[str]] | None = None
    ) -> None:
        """Nothing to do."""
