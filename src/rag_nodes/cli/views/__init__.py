"""One view per result: what people see of it on a terminal."""

VIEWS = {
    "app": "text:nothing",
    "ask": "answer:asked_view",
    "chunk": "documents:chunks_view",
    "clear": "stored:gone_view",
    "compare": "answer:compared_view",
    "docs": "documents:docs_view",
    "doctor": "stored:examined_view",
    "evaluate": "evaluation:measured_view",
    "ingest": "ingest:ingested_view",
    "list": "stored:listed_view",
    "locate": "boxes:located_view",
    "mcp": "agents:served",
    "parsers": "documents:parsers_view",
    "questions check": "evaluation:check_view",
    "questions draft": "evaluation:drafts_view",
    "read": "documents:readings_view",
    "recommend": "evaluation:measured_view",
    "remove": "stored:gone_view",
    "status": "stored:status_view",
    "store push": "stored:copied_view",
    "store export": "stored:copied_view",
}
"""By operation, the module of this folder and its function."""
NAMES_COMMANDS = frozenset({"doctor", "ingest", "list", "status"})
"""Operations whose views name commands, which then act on the store that was typed."""
