"""What a child process runs: a worker, made of the recipe that comes first, task after task."""

from __future__ import annotations

import logging
from contextlib import closing
from typing import IO, TYPE_CHECKING, Any

from pydantic import SecretStr

from rag_nodes.errors import RagNodesError
from rag_nodes.processes.serving import ends_soon, ends_with_parent, own_pipes
from rag_nodes.processes.wire import receive, receive_bytes, send_bytes
from rag_nodes.workers.transport import CannotWork, trade_at
from rag_nodes.workers.words import LoggedWords, packed

if TYPE_CHECKING:
    from rag_nodes.workers.transport import Trade, Worker


def main() -> None:
    """Work until the parent closes the pipe."""
    requests, answers = own_pipes()
    logging.captureWarnings(capture=True)
    given = receive(requests)
    keys = {name: SecretStr(key) for name, key in given["keys"].items()}
    trade, words = trade_at(given["trade"]), LoggedWords(keys)
    try:
        worker = trade.worker(trade.recipe(**given["recipe"], keys=keys))
    except RagNodesError as error:
        receive_bytes(requests)
        send_bytes(answers, packed(trade.pack(CannotWork(error))))
        return
    with closing(worker):
        while True:
            try:
                task = trade.unpack_task(receive_bytes(requests))
            except EOFError:
                ends_soon()  # whatever threads a library has started
                return
            # The last message goes out afterwards: upon it the parent may write, which the kernel
            # would take for its death.
            with ends_with_parent(requests), words.listening():
                last = _worked(worker, task, trade, words, answers)
            send_bytes(answers, packed(trade.pack(last)))


def _worked(worker: Worker, task: Any, trade: Trade, words: LoggedWords, answers: IO[bytes]) -> Any:
    """Have a task done and all of it said but the last message, which is given back."""
    for message in worker.work(task):
        for one in words.taken():
            send_bytes(answers, one.pack())
        if isinstance(message, trade.last):
            last = message
        else:
            send_bytes(answers, packed(trade.pack(message)))
    return last
