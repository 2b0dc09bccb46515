"""Ten visitors at once: each in their own documents, none behind another, none left over."""

import asyncio
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from openai_server import Fault, OpenAIServer
from visits import QUESTION, Visitor, visiting, write_text

from rag_nodes.apps.visitors.session import PageSession, key_of
from rag_nodes.core.settings import Settings

COLOURS = (
    "amber azure coral crimson emerald indigo magenta olive scarlet turquoise".split()  # noqa: SIM905 - easier to read
)


def test_each_is_answered_from_their_own_document_while_one_waits_for_a_slow_model(
    settings: Settings, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    earlier = set(threading.enumerate())
    with visiting(settings.model_copy(update={"api_base": openai_server.base})) as house:
        with ThreadPoolExecutor(1) as thread:  # browser tests leave a loop running in this one
            gone = thread.submit(asyncio.run, _visits(house, openai_server, tmp_path)).result()
        assert len(house.sessions) == 0
    for thread in set(threading.enumerate()) - earlier:
        if thread.name == "sweep":  # it was told to end, and holds its session until it has
            thread.join(180)
    gc.collect()
    assert [leave() for leave in gone] == [None] * len(COLOURS)


async def _visits(  # noqa: C901 - one visit after the other
    house: Visitor, openai_server: OpenAIServer, folder: Path
) -> list[weakref.ref[PageSession]]:
    """Ten visitors come, load, ask and leave; gives what should be gone then."""
    tokens = [f"{number:048x}" for number in range(len(COLOURS))]

    async def act(token: str, action: str, **payload: Any) -> dict[str, Any]:
        sent = {"token": token, "action": action, "payload": payload}
        return await house.desk.act(sent, "")

    def session(token: str) -> PageSession:
        return house.sessions.of(key_of(token, ""))

    await act(tokens[0], "models", api_key="any")
    for token, colour in zip(tokens, COLOURS, strict=True):
        path = write_text(folder / f"{colour}.md", f"# Colour\n\nThe machine is {colour}.\n")
        await act(token, "arrive")
        session(token).start_loading([path])
    for token in tokens:
        loading = session(token).last_loading
        assert loading
        await asyncio.to_thread(loading.result)
    held = len(openai_server.asked("embeddings")) + 1
    openai_server.fail(Fault(body="slow"))
    await act(tokens[0], "ask", question=QUESTION)
    await asyncio.to_thread(openai_server.wait_for, "embeddings", held)
    for token, colour in zip(tokens[1:], COLOURS[1:], strict=True):
        await act(token, "ask", question=QUESTION)
        while not session(token).turns:
            await act(token, "look", since="999999")
        reply = await act(token, "arrive")
        turn = next(patch["html"] for patch in reply["patches"] if patch["name"] == "turn 1")
        assert [colour for colour in COLOURS if colour in turn] == [colour]
    assert session(tokens[0]).turns == ()
    openai_server.release()
    while not session(tokens[0]).turns:
        await act(tokens[0], "look")
    gone = [weakref.ref(session(token)) for token in tokens]
    for token in tokens:
        await asyncio.to_thread(house.sessions.end, key_of(token, ""))
    return gone
