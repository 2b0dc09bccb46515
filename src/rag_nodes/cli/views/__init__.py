"""One view per result: what people see of it on a terminal."""

VIEWS = {
    "app": "questions:nothing_more",
    "ask": "answer:asked_view",
    "chunk": "chunks:chunks_view",
    "clear": "stored:gone_view",
    "compare": "comparison:compared_view",
    "docs": "docs:docs_view",
    "doctor": "stored:examined_view",
    "evaluate": "evaluation:measured_view",
    "ingest": "ingest:ingested_view",
    "list": "stored:listed_view",
    "parsers": "chunks:parsers_view",
    "questions check": "questions:check_view",
    "questions convert": "questions:written_view",
    "questions draft": "questions:drafts_view",
    "questions review": "questions:nothing_more",
    "read": "read:readings_view",
    "recommend": "evaluation:measured_view",
    "remove": "stored:gone_view",
    "status": "stored:status_view",
    "store alias": "stored:aliases_view",
    "store import": "stored:copied_view",
    "store pull": "stored:copied_view",
    "store push": "stored:copied_view",
}
"""By operation, the module of this folder and its function."""
NAMES_COMMANDS = frozenset({"doctor", "ingest", "status"})
"""Operations whose views name commands, which then act on the store that was typed."""
