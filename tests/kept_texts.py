"""What is in a journal of written texts."""

import sqlite3
from contextlib import closing
from pathlib import Path


def texts_in(journal: Path) -> int:
    """How many texts a journal holds."""
    with closing(sqlite3.connect(journal)) as database:
        ((count,),) = database.execute("select count(*) from written")
    return int(count)
