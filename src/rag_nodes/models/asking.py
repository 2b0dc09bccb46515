"""Many prompts for one LLM: side by side, within an account's limit, and no longer than helps."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from llama_index.core.prompts import PromptTemplate
from pydantic import BaseModel

from rag_nodes.core.errors import CredentialsError, RagNodesError
from rag_nodes.core.keys import keys_of, kind_of, without_keys
from rag_nodes.core.processes import BackgroundExecutor, BackgroundThread
from rag_nodes.models.faults import failure_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from llama_index.core.base.llms.types import CompletionResponse
    from llama_index.core.llms import LLM

Result = TypeVar("Result")
Form = TypeVar("Form", bound=BaseModel)

GIVE_UP_AFTER = 8
"""Requests that fail in a row before nothing is asked any more."""
_MOST_THREADS = 128
"""Requests under way of models that know no asynchronous ones."""


class UnansweredError(Exception):
    """A prompt got no answer; the message says why."""


class UnformedError(Exception):
    """An answer does not have the form that was asked for."""


_FENCED = re.compile(r"\A```(?:json)?\s*(.*?)\s*```\Z", re.DOTALL)


class Asker:
    """Asks one model; a server that is down is not asked a thousand times.

    Args:
        llm: any LlamaIndex model. It alone repeats requests: `OpenAIServerLLM` does so for its
            `retry_seconds`, and keeps to the limits of an account: its `rate_limiter`.
        failures: in a row so far, also afterwards.
    """

    def __init__(self, llm: LLM, failures: int = 0) -> None:
        self.failures = failures
        self._llm = llm
        self._last = ""

    async def ask(self, prompt: str) -> CompletionResponse:
        """The answer, which is not blank.

        Raises:
            UnansweredError: the request failed, or too many have failed before it.
        """
        answer = await self.answered(self._llm.acomplete, prompt)
        if not answer.text.strip():
            name = self._llm.metadata.model_name
            raise self._failed(ValueError(f"{name}: an empty answer; try again"))
        self.failures = 0
        return answer

    async def predict(self, form: type[Form], prompt: str) -> Form:
        """The answer in a form: as the model gives structured answers, else in JSON.

        Args:
            form: of the answer.
            prompt: says what JSON is wanted, too.

        Raises:
            UnansweredError: the request failed, or too many have failed before it.
            UnformedError: there was an answer, but in no such form.
        """

        async def structured(prompt: str) -> Form | None:
            template = PromptTemplate("{asked}")
            try:
                answer: Form = await self._llm.astructured_predict(form, template, asked=prompt)
            except ValueError as error:
                if isinstance(error, RagNodesError):
                    raise
                if not self._llm.metadata.is_function_calling_model:
                    raise UnformedError(kind_of(error)) from error
                return None  # a model that talks where it should call a tool
            return answer

        answer = await self.answered(structured, prompt)
        if answer is None:
            text = (await self.ask(prompt)).text.strip()
            fenced = _FENCED.match(text)
            try:
                answer = form.model_validate_json(fenced[1] if fenced else text)
            except ValueError as error:
                raise UnformedError(str(error)) from error
        self.failures = 0
        return answer

    async def answered(self, ask: Callable[[str], Awaitable[Result]], prompt: str) -> Result:
        """Return the reply to a request; a caller that accepts it sets `failures` to 0.

        Raises:
            UnansweredError: the request failed, or too many have failed before it.
        """
        if self.failures >= GIVE_UP_AFTER:
            raise UnansweredError(f"not asked, because requests kept failing: {self._last}")
        try:
            return await ask(prompt)
        except Exception as error:
            # A model handed in by the user may raise anything; one prompt is no reason to stop.
            if isinstance(error, UnformedError):
                self.failures = 0
                raise
            if isinstance(error, RagNodesError):
                raise self._failed(error) from error
            name = self._llm.metadata.model_name
            raise self._failed(failure_of(error, self._llm, name=name)) from error

    def _failed(self, error: Exception) -> UnansweredError:
        self._last = without_keys(str(error), keys_of(self._llm))
        # A refused key stays refused.
        self.failures = GIVE_UP_AFTER if isinstance(error, CredentialsError) else self.failures + 1
        return UnansweredError(self._last)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of this process for all that is awaited here, in its own thread.

    One for all: clients of servers keep their connections with the loop that opened them.
    """
    loop = asyncio.new_event_loop()
    # Models that only block run in its threads.
    loop.set_default_executor(BackgroundExecutor(_MOST_THREADS, "asking"))
    BackgroundThread(partial(_run, loop), "awaiting", end=partial(_end, loop)).start()
    return loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        # A task that is left behind is reported on the terminal when the interpreter ends.
        if tasks := asyncio.all_tasks(loop):
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.wait(tasks))
    finally:
        loop.close()


def _end(loop: asyncio.AbstractEventLoop) -> None:
    """Stop the loop; whatever is awaited later gets a new one instead of waiting for ever."""
    _loop.cache_clear()
    loop.call_soon_threadsafe(loop.stop)


_STARTING = threading.Lock()
if hasattr(os, "register_at_fork"):  # a process that was forked has the loop without its thread
    os.register_at_fork(after_in_child=_loop.cache_clear)


def awaited(work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of a coroutine, also if an event loop is already running."""
    with _STARTING:
        loop = _loop()
    if asyncio._get_running_loop() is loop:  # noqa: SLF001 -- it would wait for itself
        return BackgroundExecutor(1, "awaiting").submit(asyncio.run, work).result()
    answer = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return answer.result()
    finally:
        answer.cancel()  # where whoever waits was interrupted
