"""What a child process runs: a worker, made of the recipe that comes first, task after task."""

from __future__ import annotations

import gc
from contextlib import closing
from typing import IO, TYPE_CHECKING

from pydantic import SecretStr

from rag_nodes.errors import RagNodesError
from rag_nodes.processes.serving import ends_with_parent, own_pipes
from rag_nodes.processes.wire import receive, receive_bytes, send_bytes
from rag_nodes.workers.transport import CannotWork, trade_at
from rag_nodes.workers.words import LoggedWords, packed, spoken, turn_page

if TYPE_CHECKING:
    from collections.abc import Iterable

_COLLECTED_AFTER = 50_000
"""Objects that may be made beyond those that went before cycles are looked for among them."""


def main() -> None:
    """Work until the parent closes the pipe."""
    requests, answers = own_pipes()
    given = receive(requests)
    keys = {name: SecretStr(key) for name, key in given["keys"].items()}
    trade, words = trade_at(given["trade"]), LoggedWords(keys)
    try:
        with words.listening():
            worker = trade.worker(trade.recipe(**given["recipe"], keys=keys))
    except RagNodesError as error:
        receive_bytes(requests)
        send_bytes(answers, packed(trade.pack(CannotWork(error))))
        return
    collect_seldom()
    with closing(worker):
        while True:
            try:
                task = trade.unpack_task(receive_bytes(requests))
            except EOFError:
                return
            turn_page()  # one that ends its worker twice is alone in its task the second time
            # The last message goes out afterwards: upon it the parent may write, which the kernel
            # would take for its death.
            with ends_with_parent(requests):
                last = _worked(spoken(worker, task, trade, words), answers)
            send_bytes(answers, last)


def collect_seldom() -> None:
    """Look for cycles in what tasks leave, now and then; not in modules and models, which stay.

    By default that takes a tenth of the time of a worker that cuts and embeds.
    """
    gc.freeze()
    gc.set_threshold(_COLLECTED_AFTER, *gc.get_threshold()[1:])


def _worked(said: Iterable[tuple[bytes, bool]], answers: IO[bytes]) -> bytes:
    """Have a task done and all of it said but the last message, which is given back."""
    for data, is_last in said:
        if is_last:
            last = data
        else:
            send_bytes(answers, data)
    return last
