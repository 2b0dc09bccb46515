"""What a child process runs: a worker, made of the recipe that comes first, batch after batch."""

from __future__ import annotations

from contextlib import closing
from typing import IO, TYPE_CHECKING

from pydantic import SecretStr

from rag_nodes.errors import RagNodesError
from rag_nodes.processes.serving import ends_with_parent, own_pipes
from rag_nodes.processes.wire import receive, receive_bytes, send_bytes
from rag_nodes.workers.messages import BatchFailed, BatchFinished, pack, unpack_batch
from rag_nodes.workers.recipe import Recipe
from rag_nodes.workers.work import BatchWorker

if TYPE_CHECKING:
    from rag_nodes.workers.messages import Message


def main() -> None:
    """Work until the parent closes the pipe."""
    requests, answers = own_pipes()
    given = receive(requests)
    keys = {name: SecretStr(key) for name, key in given["keys"].items()}
    try:
        worker = BatchWorker(Recipe(**given["recipe"], keys=keys))
    except RagNodesError as error:
        receive_bytes(requests)
        _say(answers, BatchFailed(error))
        return
    with closing(worker):
        while True:
            try:
                batch = unpack_batch(receive_bytes(requests))
            except EOFError:
                return
            # The last message goes out afterwards: upon it the parent may write, which the kernel
            # would take for its death.
            with ends_with_parent(requests):
                for message in worker.work(batch):
                    if isinstance(message, BatchFinished | BatchFailed):
                        last = message
                    else:
                        _say(answers, message)
            _say(answers, last)


def _say(answers: IO[bytes], message: Message) -> None:
    send_bytes(answers, pack(message))
