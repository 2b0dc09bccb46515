"""What a child process runs: a worker, made of the recipe that comes first, task after task."""

from __future__ import annotations

from contextlib import closing

from pydantic import SecretStr

from rag_nodes.errors import RagNodesError
from rag_nodes.processes.serving import ends_with_parent, own_pipes
from rag_nodes.processes.wire import receive, receive_bytes, send_bytes
from rag_nodes.workers.transport import CannotWork, trade_at


def main() -> None:
    """Work until the parent closes the pipe."""
    requests, answers = own_pipes()
    given = receive(requests)
    keys = {name: SecretStr(key) for name, key in given["keys"].items()}
    trade = trade_at(given["trade"])
    try:
        worker = trade.worker(trade.recipe(**given["recipe"], keys=keys))
    except RagNodesError as error:
        receive_bytes(requests)
        send_bytes(answers, trade.pack(CannotWork(error)))
        return
    with closing(worker):
        while True:
            try:
                task = trade.unpack_task(receive_bytes(requests))
            except EOFError:
                return
            # The last message goes out afterwards: upon it the parent may write, which the kernel
            # would take for its death.
            with ends_with_parent(requests):
                for message in worker.work(task):
                    if isinstance(message, trade.last):
                        last = message
                    else:
                        send_bytes(answers, trade.pack(message))
            send_bytes(answers, trade.pack(last))
