"""A loopback server that speaks OpenAI's protocol, counts what it is asked, and fails on demand.

Vectors are hashed words, so equal texts give equal vectors; answers quote the question and cite
[Source 1].
"""

import asyncio
import base64
import json
import socket
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Self
from zlib import crc32

import numpy as np
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

DIMENSION = 64
HELD = 600.0
"""Seconds after which a held request is answered, should a test never release it."""
ANSWER = "The documents answer this [Source 1]."


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong.

    `status` answers with that code; `body` names an effect on an otherwise good answer:
    "cut" breaks a stream off, "unfinished" ends it without a finish reason, "empty" sends
    nothing in it, "error-event" an error; "dimension", "nan", "huge", "zero", "no-numbers",
    "count" and "more" spoil vectors; "length" ends the answer at the limit of tokens;
    "error-object" answers HTTP 200 with an error, whose code is `code`; "html", "no-choices",
    "garbage", "shapeless" and "nothing" answer in another shape; "slow" waits until `release` or
    `reset`, "drip" sends a little before it does; "reset" ends the connection within the answer.
    """

    status: int | None = None
    code: str | None = None
    message: str = "made to fail"
    parameter: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""


UNAUTHORIZED = Fault(401, "invalid_api_key", "Incorrect API key provided")
LIMITED = Fault(429, "rate_limit_exceeded", "Rate limit reached")
NO_QUOTA = Fault(429, "insufficient_quota", "You exceeded your current quota")
FAILING = Fault(500, None, "The server had an error")
TOO_LONG = Fault(400, "context_length_exceeded", "This model's maximum context length is 8192")
UNKNOWN_MODEL = Fault(404, "model_not_found", "The model does not exist")


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool that a model wants."""

    name: str
    arguments: dict[str, Any]

    def message(self) -> dict[str, Any]:
        """The message that asks for it."""
        function = {"name": self.name, "arguments": json.dumps(self.arguments)}
        call = {"id": f"call-{self.name}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}


@dataclass
class Recorded:
    """One request as it arrived."""

    path: str
    body: dict[str, Any]
    authorization: str | None


class OpenAIServer:
    """The server; use as a context manager, `faults` are used up in order, one per request.

    `embedded` are the texts whose vectors were sent as they should be.

    Chats are answered with `answer`, which may be a function of the prompt; with a `ToolCall` only
    if they are not streamed.
    """

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self._arrived = threading.Condition()
        self.faults: deque[Fault]
        self._released = threading.Event()
        self.reset()
        self._socket = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(_app(self), log_config=None, ws="none", lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )

    def reset(self) -> None:
        """Forget everything and let held requests go; for the next test."""
        self.requests.clear()
        self.embedded: list[str] = []
        self.faults = deque()
        self.dimension = DIMENSION
        self.answer: str | Callable[[str], str | ToolCall] = ANSWER
        self.release()

    def release(self) -> None:
        """Let held requests go, and hold none of those that were to be held and come later."""
        self.faults = deque(fault for fault in self.faults if fault.body not in ("slow", "drip"))
        self._released.set()
        self._released = threading.Event()

    @property
    def base(self) -> str:
        """What to set `api_base` to."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def fail(self, fault: Fault, times: int = 1) -> None:
        """Let the next requests fail."""
        self.faults.extend([fault] * times)

    def asked(self, path: str) -> list[dict[str, Any]]:
        """Bodies of the requests to a path such as "embeddings"."""
        return [request.body for request in self.requests if request.path.endswith(path)]

    def record(self, seen: Recorded) -> None:
        """Remember a request, and tell who waits for it."""
        with self._arrived:
            self.requests.append(seen)
            self._arrived.notify_all()

    def wait_for(self, path: str, count: int = 1) -> None:
        """Wait until that many requests to a path have arrived."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.asked(path)) >= count, timeout=60)

    def answer_to(self, body: dict[str, Any]) -> str | ToolCall:
        """What a chat is answered."""
        if isinstance(self.answer, str):
            return self.answer
        return self.answer(body["messages"][-1]["content"])

    def __enter__(self) -> Self:
        # The socket listens already: a request made now waits until the server accepts it.
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(timeout=10)
        self._socket.close()

    @property
    def released(self) -> threading.Event:
        """What the next release sets."""
        return self._released

    def hold(self, released: threading.Event) -> None:
        """Hold a request until the release; for the "slow" fault."""
        released.wait(timeout=HELD)


_STRANGE = {"garbage": "{not json", "shapeless": '["no", "object"]', "nothing": ""}
"""What is sent as JSON and is no answer."""


def _app(server: OpenAIServer) -> FastAPI:
    app = FastAPI()

    async def record_request(request: Request) -> tuple[dict[str, Any], Fault, Response | None]:
        body = await request.json()
        seen = Recorded(request.url.path, body, request.headers.get("authorization"))
        released = server.released  # first: whoever waits for the request may release it at once
        server.record(seen)
        fault = server.faults.popleft() if server.faults else Fault()
        return body, fault, await _fail_request(server, fault, released)

    @app.post("/v1/embeddings")
    async def embeddings(request: Request) -> Response:
        body, fault, failure = await record_request(request)
        return failure or _embeddings(server, body, fault)

    @app.post("/v1/chat/completions")
    async def chat(request: Request) -> Response:
        body, fault, failure = await record_request(request)
        if failure is not None:
            return failure
        if body.get("stream"):
            return StreamingResponse(_events(server, body, fault), media_type="text/event-stream")
        return _chat(server, body, fault)

    @app.get("/v1/models")
    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [{"id": "test", "object": "model", "owned_by": "us"}]}

    return app


async def _fail_request(
    server: OpenAIServer, fault: Fault, released: threading.Event
) -> Response | None:
    if fault.body == "slow":
        await asyncio.to_thread(server.hold, released)
    if fault.body == "html":
        return Response("<html>welcome</html>", media_type="text/html")
    if fault.body == "error-object":
        status = int(fault.code) if fault.code else None
        return JSONResponse({"error": {"message": fault.message, "code": status}})
    if fault.body in _STRANGE:
        return Response(_STRANGE[fault.body], media_type="application/json")
    if fault.body == "drip":
        return StreamingResponse(_dripping(server, released), media_type="application/json")
    if fault.status is None:
        return None
    error = {"message": fault.message, "code": fault.code, "param": fault.parameter, "type": "x"}
    return JSONResponse({"error": error}, status_code=fault.status, headers=fault.headers)


def _embeddings(server: OpenAIServer, body: dict[str, Any], fault: Fault) -> Response:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    if any(not text for text in texts):
        error = {"message": "input cannot be empty", "code": None, "param": "input", "type": "x"}
        return JSONResponse({"error": error}, status_code=400)
    length = body.get("dimensions") or server.dimension
    vectors = [_vector(text, length) for text in texts]
    vectors = _spoil_vectors(vectors, fault.body)
    coded = body.get("encoding_format") == "base64"
    rows = [
        {
            "object": "embedding",
            "index": index,
            "embedding": _encode_vector(vector) if coded else vector,
        }
        for index, vector in enumerate(vectors)
    ]
    rows.reverse()  # the order is in `index`, not in the list
    if fault.body == "reset":
        return StreamingResponse(_broken_off(), media_type="application/json")
    if not fault.body:
        server.embedded.extend(texts)
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    answer = {"object": "list", "data": rows, "model": body["model"], "usage": usage}
    return JSONResponse(answer)


def _spoil_vectors(vectors: list[list[float]], effect: str) -> list[list[float]]:
    if effect == "dimension":
        vectors[-1] = vectors[-1][:-1]
    if effect == "nan":
        vectors[-1][0] = np.nan
    if effect == "huge":
        vectors[-1][0] = 1e30
    if effect == "no-numbers":
        vectors = [[] for _ in vectors]
    if effect == "zero":
        vectors[-1] = [0.0] * len(vectors[-1])
    if effect == "count":
        vectors.pop()
    if effect == "more":
        vectors.append(vectors[0])
    return vectors


async def _dripping(server: OpenAIServer, released: threading.Event) -> AsyncIterator[str]:
    for _ in range(3):
        yield " "
    await asyncio.to_thread(server.hold, released)


async def _broken_off() -> AsyncIterator[str]:
    yield '{"object": "list", "data": ['
    raise ConnectionAbortedError("made to break off")


def _encode_vector(vector: list[float]) -> str:
    return base64.b64encode(np.array(vector, dtype="<f4").tobytes()).decode()


def _vector(text: str, length: int) -> list[float]:
    sums = np.zeros(length)
    for word in text.lower().split():
        sums[crc32(word.encode()) % length] += 1.0
    norm = float(np.linalg.norm(sums)) or 1.0
    vector: list[float] = (sums / norm).tolist()
    return vector


def _chat(server: OpenAIServer, body: dict[str, Any], fault: Fault) -> JSONResponse:
    answer = "" if fault.body == "empty" else server.answer_to(body)
    is_call = isinstance(answer, ToolCall)
    message = answer.message() if is_call else {"role": "assistant", "content": answer}
    reason = "tool_calls" if is_call else "length" if fault.body == "length" else "stop"
    choices = [{"index": 0, "message": message, "finish_reason": reason}]
    reply = {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [] if fault.body == "no-choices" else choices,
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    return JSONResponse(reply)


async def _events(server: OpenAIServer, body: dict[str, Any], fault: Fault) -> AsyncIterator[str]:
    pieces = [] if fault.body == "empty" else _pieces(str(server.answer_to(body)))
    for position, piece in enumerate(pieces):
        if fault.body == "cut" and position == len(pieces) // 2:
            raise ConnectionAbortedError("made to break off")
        if fault.body == "error-event" and position:
            yield f"data: {json.dumps({'error': {'message': fault.message}})}\n\n"
            return
        yield _event({"content": f" {piece}" if position else piece}, None)
    if fault.body != "unfinished":
        yield _event({}, "length" if fault.body == "length" else "stop")
        yield "data: [DONE]\n\n"


def _pieces(answer: str) -> list[str]:
    """Word by word, but of a long answer several at once: how often is not the point."""
    words = answer.split(" ")
    step = len(words) // 100 + 1
    return [" ".join(words[at : at + step]) for at in range(0, len(words), step)]


def _event(delta: dict[str, str], reason: str | None) -> str:
    choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
    chunk = {
        "id": "chat-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "test",
        "choices": choices,
    }
    return f"data: {json.dumps(chunk)}\n\n"
