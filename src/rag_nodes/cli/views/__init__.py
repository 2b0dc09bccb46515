"""One view per result: what people see of it on a terminal."""

VIEWS = {"chunk": "chunks:chunks_view", "status": "stored:status_view"}
"""By operation, the module of this folder and its function."""
NAMES_COMMANDS = frozenset({"status"})
"""Operations whose views name commands, which then act on the store that was typed."""
