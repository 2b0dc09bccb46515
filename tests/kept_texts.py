"""What is in a file of answers that were paid for."""

import sqlite3
from contextlib import closing
from pathlib import Path


def texts_in(path: Path) -> int:
    """How many answers a file holds."""
    with closing(sqlite3.connect(path)) as database:
        ((count,),) = database.execute("select count(*) from written")
    return int(count)
