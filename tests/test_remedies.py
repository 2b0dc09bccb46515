"""Commands in messages are complete, and tell no password."""

from __future__ import annotations

from rag_nodes import remedies


def test_a_command_has_the_store_and_ledger_that_were_typed_without_credentials() -> None:
    remedies.typed("https://me:secret@server:6333/a", "my ledger.sqlite")
    try:
        told = remedies.command("list --state failed", corpus="my docs")
    finally:
        remedies.typed(None, None)
    assert told == (
        "rag-nodes list --state failed --corpus 'my docs' --store https://server:6333/a "
        "--ledger 'my ledger.sqlite'"
    )
    assert remedies.command("status") == "rag-nodes status"
