"""`rag-nodes doctor`: what is wrong with a store, and what to do."""

from typing import Annotated

import typer

from rag_nodes.cli.failures import ExitCode
from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.options import STORE_SETTINGS
from rag_nodes.cli.stores import ledger_of, must_exist, opened
from rag_nodes.cli.views.stored import finding_view, verdict_view


@takes(*STORE_SETTINGS, "ledger")
def doctor(
    cli: Invocation,
    *,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Mend what can be mended without a loss: the ledger, and "
            "documents that are not whole, which go so that the next ingest makes them anew.",
        ),
    ] = False,
) -> None:
    """Look for what is torn, foreign, orphaned or about to fail in a store, with the remedy.

    Every collection is read document by document. Ends with 4 where something is wrong that was
    not mended, else with 0.
    """
    from rag_nodes.upkeep import examined

    settings = cli.settings()
    must_exist(settings.store)
    found = []
    examination = examined(
        settings.store,
        lambda: opened(cli, settings),
        lambda location: ledger_of(settings, location),
        repair=repair,
    )
    with cli.activity("Looking at the store"):
        for finding in examination:
            found.append(finding)
            if not cli.as_json:
                cli.tell(*finding_view(finding))
    wrong = sum(one.is_wrong and not one.mended for one in found)
    if cli.as_json:
        rows = [
            one.as_dict() | {"what": cli.with_store(one.what), "remedy": cli.with_store(one.remedy)}
            for one in found
        ]
        cli.emit({"store": settings.store, "sound": not wrong, "findings": rows})
    else:
        cli.show(*verdict_view(settings.store, found))
    raise typer.Exit(ExitCode.GATE if wrong else ExitCode.DONE)
