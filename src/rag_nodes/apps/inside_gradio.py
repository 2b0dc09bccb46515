"""Everything the app takes from inside Gradio rather than from its documented interface.

Gradio may change any of it without notice. `tests/apps/test_inside_gradio.py` has a test for each
assumption:

- a function of `gr.HTML(server_functions=…)` gets the plain request of FastAPI, and the Gradio app
  is in its scope, with `auth_dependency`, `tokens` and `cookie_id` (`user_of`);
- while `Blocks.has_launched` is false, any path is taken for an upload (`take_uploads_only`);
- `Context.root_block` is the outermost of the blocks that are open (`take_uploads_only`);
- the queue looks for events every `Queue.sleep_when_free` seconds, and for news of `gr.Progress`
  every `progress_update_sleep_when_free` (`PageBlocks.queue`).
"""

from __future__ import annotations

from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr
from gradio.context import Context
from gradio.utils import get_upload_folder

if TYPE_CHECKING:
    from collections.abc import Callable

_PAUSE_SECONDS = 0.5
"""Pause between two looks for events, of which the page has none; at Gradio's own 0.001 an idle
app takes 4 % of a core."""
_NEVER_SECONDS = 60.0
"""Pause between two looks for progress, which the page does not use."""


class PageBlocks(gr.Blocks):
    """Blocks that rest while nothing happens.

    Attributes:
        at_end: what whoever serves them calls at the end.
    """

    at_end: Callable[[], None] = staticmethod(lambda: None)

    def queue(self, *args: Any, **options: Any) -> Any:
        """Let the queue look for events seldom: the page sends none."""
        super().queue(*args, **options)
        self._queue.sleep_when_free = _PAUSE_SECONDS
        self._queue.progress_update_sleep_when_free = _NEVER_SECONDS
        return self


def take_uploads_only(app: gr.Blocks) -> None:
    """Have no path on this server taken for an upload, in `app` and the blocks it is part of.

    Gradio checks the origin of a file once this is set. Only `launch` sets it, so a mounted app
    would hand out files.
    """
    (Context.root_block or app).has_launched = True


async def user_of(request: Any) -> str:
    """Return who is logged in, by Gradio's `auth` or `auth_dependency`; "" for nobody."""
    app = request.scope["app"]
    if app.auth_dependency is not None:
        user = app.auth_dependency(request)
        return str((await user if isawaitable(user) else user) or "")
    cookies = (f"{kind}-{app.cookie_id}" for kind in ("access-token", "access-token-unsecure"))
    return next((str(app.tokens[token]) for name in cookies
                 if (token := request.cookies.get(name)) in app.tokens), "")  # fmt: skip


def is_uploaded(path: Path) -> bool:
    """Return True if a file was uploaded and is still there."""
    return path.resolve().is_relative_to(Path(get_upload_folder()).resolve()) and path.is_file()
