"""A splitter of workers in tests: prints, logs, shows what it knows, dies when told to."""

import hashlib
import logging
import os
import signal
from pathlib import Path


class HostileSplitter:
    """Cuts at blank lines; `HOSTILE` names a folder for what it has to say."""

    def __init__(self) -> None:
        start = Path(os.environ["HOSTILE"], "no start")
        if start.exists():
            start.unlink()
            os.kill(os.getpid(), signal.SIGKILL)

    def split_text(self, text: str) -> list[str]:
        print("a worker speaks")  # noqa: T201 - as splitters of other packages do
        logging.getLogger("hostile").warning("cut with %s", os.environ["OPENAI_API_KEY"])
        place = Path(os.environ["HOSTILE"])
        key = hashlib.sha256(os.environ["OPENAI_API_KEY"].encode()).hexdigest()
        place.joinpath(f"{os.getpid()}-saw").write_text(f"{key} {Path.home()}", encoding="utf-8")
        if "KILL ME" in text:
            place.joinpath(f"{os.getpid()}-died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if "WAIT HERE" in text:
            with place.joinpath("gate").open("w") as gate:  # until somebody reads it
                gate.write("arrived")
            signal.pause()
        return text.split("\n\n")
