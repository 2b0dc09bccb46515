"""Everything the app takes from inside Gradio rather than from its documented interface.

A new version of Gradio may change any of it without notice. `tests/apps/test_inside_gradio.py` has
a test for each assumption, named after it:

- the data of a click is in `EventData._data` alone (`data_of`);
- `Blocks.process_api` and `Blocks.preprocess_data` see every input of an event (`GuardedBlocks`);
- `Blocks._queue` is made by `queue`, and `Queue.push` takes in every event (`share_fairly`);
- the queue looks for events every `Queue.sleep_when_free` seconds, and for news of `gr.Progress`,
  which the page does not use, every `progress_update_sleep_when_free` (`GuardedBlocks.queue`);
- events that wait are in `Queue.event_queue_per_concurrency_id`;
- `Context.root_block` is the outermost of the blocks that are open (`outermost`);
- while `Blocks.has_launched` is false, any path is taken for an upload (`take_uploads_only`);
- files to download go through `save_bytes_to_cache` (`offer`);
- the browser keeps what public events of the page took and gave (`for_scripts`);
- answers pass `Blocks.postprocess_data`, and the browser gets them in the order in which they left
  it; ended generators (`types_generator`) pass `Blocks.handle_streaming_diffs` (`newest_wins`);
- the browser keeps the order of the answers of one event, but those that show or hide a component
  take it longer than later ones of another event (`newest_wins`; see `test_reload_browser.py`);
- the browser shows the answers of an event once it knows that the server took the event in, after
  those of others that were sent later; and it asks for no answers of an event that the server took
  in after it had ended the stream of answers, and before the browser knew (`hear_every_answer`; its
  tests need a browser, and are in `test_reload_browser.py`).
"""

from __future__ import annotations

import errno
import logging
from itertools import count
from math import isfinite
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

import gradio as gr
from gradio.context import Context
from gradio.processing_utils import save_bytes_to_cache
from gradio.utils import get_upload_folder

from rag_nodes.core.network import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from fastapi import Request
    from gradio.data_classes import PredictBodyInternal
    from gradio.queueing import Queue
    from gradio.state_holder import SessionState

DOES_NOT_FIT = "The page sent something that does not fit: reload it and try again."
MOST_WAITING = 20
"""Events of one visitor that may wait; a page has a few at most, a script as many as it likes."""
TOO_MANY = "Too much of yours is waiting already: wait for the answers."
NO_EVENT = "There is no such event: reload the page."
_PAUSE = 0.04
"""Seconds between two looks for events; at Gradio's own 0.001 an idle app takes 4 % of a core."""
_NEVER = 60.0
"""Seconds between two looks for what there is none of; Gradio's own 0.01 take 2 % of a core."""
_LONGEST = 200
"""Characters of a refusal; Gradio repeats what was sent."""

_IN_ORDER = """() => {
  const ask = window.fetch, joining = new Set();
  let joined = 0, due;
  if (window.rnInOrder) return;
  window.rnInOrder = true;
  const join = (...sent) => {
    const answered = ask(...sent).then(async (one) => new Response(await one.blob(), one));
    const known = answered.catch(() => {}).then(() => {
      joined = performance.now();
      return new Promise((done) => setTimeout(done, 20));
    }).finally(() => joining.delete(known));
    joining.add(known);
    return answered;
  };
  const read = async (...sent) => {
    const began = performance.now(), answer = await ask(...sent);
    const inTurn = new TransformStream({
      async transform(chunk, after) {
        await Promise.race([Promise.all(joining), new Promise((done) => setTimeout(done, 20000))]);
        after.enqueue(chunk);
      },
    });
    answer.body.pipeTo(inTurn.writable).catch(() => {}).finally(() => {
      if (joined < began) return;
      clearTimeout(due);
      due = setTimeout(() => document.querySelector('#rn-listen')?.click(), 1000);
    });
    return new Response(inTurn.readable, answer);
  };
  window.fetch = (...sent) => {
    const url = String(sent[0]?.url ?? sent[0]);
    if (url.includes('/queue/join')) return join(...sent);
    return url.includes('/queue/data') ? read(...sent) : ask(...sent);
  };
}"""
"""Answers wait while an event is being taken in, at most 20 seconds: the page would show answers of
an event that it does not know yet after later ones. If an event was taken in while a stream was
read that has ended since, another event opens a stream, which brings the missing answers. That
event comes before its own stream, so that no third one follows."""

_DISK = frozenset({errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EMFILE, errno.EIO})
"""What a full, locked or broken disk answers."""


logger = logging.getLogger(__name__)


class GuardedBlocks(gr.Blocks):
    """Blocks whose events take files that were uploaded, and none from the web.

    Otherwise whoever sends an address in place of a file has this server download it, of any size
    and whatever the limit of uploads.

    Attributes:
        at_end: what whoever serves them calls at the end.
    """

    at_end: Callable[[], None] = staticmethod(lambda: None)

    def queue(self, *args: Any, **options: Any) -> Any:
        """Let events wait, but not too many of one visitor."""
        super().queue(*args, **options)
        self._queue.sleep_when_free = _PAUSE
        self._queue.progress_update_sleep_when_free = _NEVER
        share_fairly(self._queue)
        return self

    async def process_api(self, block_fn: Any, inputs: list[Any], *rest: Any, **more: Any) -> Any:
        """Refuse files that came with a click: the page sends none.

        Raises:
            gr.Error: there was one.
        """
        event = more.get("event_data")
        if event is not None and any(_paths([data_of(event)])):
            raise _refused(DOES_NOT_FIT)
        return await super().process_api(block_fn, inputs, *rest, **more)

    async def preprocess_data(self, block_fn: Any, inputs: list[Any], *rest: Any) -> list[Any]:
        """Refuse addresses before Gradio looks at the inputs, and in words what it cannot take.

        Raises:
            gr.Error: an input names a file by its address, or is nothing its component takes.
        """
        if any("://" in path for path in _paths(inputs)):
            raise _refused("Upload the file: addresses are not opened.")
        if any(isinstance(one, float) and not isfinite(one) for one in inputs):
            raise _refused(DOES_NOT_FIT)
        try:
            processed: list[Any] = await super().preprocess_data(block_fn, inputs, *rest)
        except gr.Error as error:  # such as a number beyond the last page
            raise _refused(str(error.message)) from error
        except Exception as error:  # components raise whatever they stumble over
            level = logging.WARNING if _is_of_the_server(error) else logging.DEBUG
            logger.log(level, "inputs of an event were refused", exc_info=True)
            raise _refused(DOES_NOT_FIT) from error
        return processed


def data_of(event: gr.EventData) -> Any:
    """What the page sent along with an event."""
    return event._data  # noqa: SLF001 - Gradio's only way


def outermost(app: gr.Blocks) -> gr.Blocks:
    """The blocks that hold all that are open: others, where `app` is built inside of them."""
    return Context.root_block or app


now = count().__next__
"""A number for what is read from here on, see `Drawn`."""


class Drawn(tuple[Any, ...]):  # noqa: SLOT001 - a tuple takes none
    """Values for all outputs of an event, at least two, that show what a visitor has now.

    Events run at the same time: what was read first may reach the page last. There it changes
    nothing where an output shows what was read later; see `newest_wins`.

    Attributes:
        at: `now()` of before anything of it was read.
    """

    at: int

    def __new__(cls, at: int, values: Iterable[Any]) -> Self:
        """Values in the order of the outputs, and `now()` of before anything of them was read."""
        drawn = super().__new__(cls, values)
        drawn.at = at
        return drawn


def newest_wins(root: gr.Blocks) -> None:
    """Let no answer replace what was read later, nor what was shown after it.

    A generator sends the newest values instead: if answers of two events arrive in a burst, the
    browser may show them in any order, so both events have to end with the same values.
    Gradio sends the last values of a generator again once it has ended, when other events may have
    changed the page. Then they change nothing, except for scripts, which wait for them.
    """
    postprocess, diffs = root.postprocess_data, root.handle_streaming_diffs
    pages: WeakKeyDictionary[SessionState, dict[int, tuple[int, Any]]] = WeakKeyDictionary()

    async def postprocess_newest(event: Any, values: Any, state: SessionState | None) -> list[Any]:
        if state is None or event.api_visibility == "public" or not isinstance(values, Drawn):
            return await postprocess(event, values, state)  # scripts wait for what they asked
        last, at = pages.setdefault(state, {}), values.at
        shown = {
            position: output._id  # noqa: SLF001 - no other name
            for position, output in enumerate(event.outputs)
            if not isinstance(values[position], dict) or values[position] != gr.skip()
        }
        # Looked at before, as states are kept by it, and after it, as it lets others go first.
        stale = {position for position, key in shown.items() if last.get(key, (at,))[0] > at}
        kept = [gr.skip() if position in stale else one for position, one in enumerate(values)]
        sent = await postprocess(event, kept, state)
        for position, key in shown.items():
            newest, value = last.get(key, (at, None))
            if newest <= at:
                last[key] = at, sent[position]
            else:
                sent[position] = value if event.types_generator else gr.skip()
        return sent

    def diffs_once(event: Any, data: list[Any], **how: Any) -> list[Any]:
        again = how["final"] and event.api_visibility == "private"
        sent = diffs(event, data, **how)
        return [gr.skip() for _ in sent] if again else sent

    root.postprocess_data = postprocess_newest  # type: ignore[method-assign,assignment]
    root.handle_streaming_diffs = diffs_once  # type: ignore[method-assign,assignment]


def take_uploads_only(root: gr.Blocks) -> None:
    """Have no path on this server taken for an upload.

    Gradio checks where a file is from once this is set. Only `launch` sets it, so a mounted app
    would hand out files.
    """
    root.has_launched = True


def offer(content: bytes, name: str) -> str:
    """The path of a file that visitors may download; it is deleted with what was uploaded."""
    return str(save_bytes_to_cache(content, name, get_upload_folder()))


def is_uploaded(path: Path) -> bool:
    """Whether it is an upload that is still there, so that the page may show it again."""
    return path.is_relative_to(get_upload_folder()) and path.is_file()


def for_scripts(
    name: str, work: Callable[..., Any], inputs: Any, outputs: Any, **options: Any
) -> None:
    """An event that scripts call by its name, and nothing on the page starts.

    Events of the page are private: of public ones Gradio keeps a history in the browser, with
    documents and keys. Only whoever launches or mounts the outermost blocks can switch that off.

    Args:
        name: what scripts call it.
        work: the same object as in the event of the page, so that one limit holds for both.
        inputs: what it takes.
        outputs: what it changes.
        **options: of `gr.on`.
    """
    gr.on([], work, inputs, outputs, api_name=name, api_visibility="public", **options)


def hear_every_answer(app: gr.Blocks) -> None:
    """Let the page show answers in the order in which they are sent, and none too late.

    It would wait for some until its visitor's next click. To be called before any event is made.
    """
    listen = gr.Button("Listen", visible="hidden", elem_id="rn-listen")
    listen.click(lambda: None, trigger_mode="multiple", api_visibility="private")
    app.load(None, js=_IN_ORDER, api_visibility="private")


def _is_of_the_server(error: Exception) -> bool:
    """Whether the disk is at fault and not what was sent: whoever runs the app has to know."""
    return isinstance(error, OSError) and error.errno in _DISK


def _refused(message: str) -> gr.Error:
    """What the visitor is told; a script's nonsense is no fault that the log has to show."""
    # Half characters would break the answer off.
    shown = message.encode("utf-8", "replace").decode()[:_LONGEST]
    return gr.Error(shown, print_exception=False)


def _paths(inputs: list[Any]) -> Iterator[str]:
    """What the files among the inputs are called, however deep they are."""
    left: list[Any] = [inputs]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            left += one.values()
            if isinstance(one.get("path"), str):
                yield one["path"]
        elif isinstance(one, list):
            left += one


def share_fairly(queue: Queue) -> None:
    """Let no visitor fill the queue, and refuse events in words that the page does not have.

    A visitor is an address, as a named proxy tells it (see `launch`). If all visitors have an
    address of this machine, each browser tab counts for itself.
    """
    push = queue.push

    async def push_fairly(body: PredictBodyInternal, request: Request, username: str | None) -> Any:
        if body.fn_index not in queue.blocks.fns:
            return False, NO_EVENT, "error"
        if _waiting(queue, _visitor(request, body.session_hash)) >= MOST_WAITING:
            return False, TOO_MANY, "queue_full"
        return await push(body=body, request=request, username=username)

    queue.push = push_fairly  # type: ignore[method-assign]


def _waiting(queue: Queue, visitor: str) -> int:
    return sum(
        _visitor(event.request, event.session_hash) == visitor
        for events in queue.event_queue_per_concurrency_id.values()
        for event in events.queue
    )


def _visitor(request: Request, tab: str | None) -> str:
    address = request.client.host if request.client else ""
    return f"tab {tab}" if not address or is_loopback(address) else address


def texts_of(event: gr.EventData) -> dict[str, str]:
    """The texts that were sent, by name; anything else is left out."""
    data = data_of(event)
    values = data if isinstance(data, dict) else {}
    return {name: one for name, one in values.items() if isinstance(one, str)}
