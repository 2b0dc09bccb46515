"""A recipe for other processes, as a pickle that loses nothing of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self


@dataclass(eq=False)
class PickledRecipe:
    """A recipe of models, parsers and transformations, of which every process makes its own.

    Attributes:
        data: a pickle of the recipe.
        keys: of its models, which are left out of what a worker says.
        workers: how many processes share what an account may ask in a minute.
        folder: in which relative paths begin; "" for wherever the process is.
        made: the recipe, once a process has prepared itself.
    """

    data: bytes = field(repr=False)
    keys: tuple[str, ...] = field(repr=False)
    workers: int
    folder: str
    made: Any = None

    @classmethod
    def of(cls, recipe: object, workers: int, *, is_elsewhere: bool = False) -> Self:
        """The recipe for so many processes, which share what an account may ask in a minute.

        Args:
            recipe: may have `prepare()`, see `Executor.run`.
            workers: how many there are.
            is_elsewhere: they may be on other machines.

        Raises:
            ConfigurationError: something in it cannot be made in another process.
        """
        from rag_nodes.models.pickling import keys_in, pickled  # with LlamaIndex, so only now

        folder = "" if is_elsewhere else str(Path.cwd())
        return cls(pickled(recipe), keys_in(recipe), workers, folder)

    def prepare(self) -> None:
        """Make the recipe, once in a process.

        Raises:
            ConfigurationError: it cannot be made here.
            MissingPackageError: a package is missing here.
        """
        from rag_nodes.models.pacing import RequestWindow
        from rag_nodes.models.pickling import unpickled

        RequestWindow.processes = self.workers
        if self.folder:
            os.chdir(self.folder)
        self.made = unpickled(self.data)
        if prepare := getattr(self.made, "prepare", None):
            prepare()
