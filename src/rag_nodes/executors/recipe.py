"""A recipe for other processes, as a pickle that loses nothing of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import SecretStr


@dataclass(eq=False)
class PickledRecipe:
    """A recipe of models, parsers and transformations, of which every process makes its own.

    Attributes:
        data: a pickle of the recipe.
        again: the same for the successor of a process that died.
        keys: of its models, which are left out of what a worker says.
        folder: in which relative paths begin; "" for wherever the process is.
        made: the recipe, once a process has prepared itself.
    """

    data: bytes = field(repr=False)
    again: bytes = field(repr=False)
    keys: Mapping[str, SecretStr] = field(repr=False)
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
        from rag_nodes.models.rebuilding import keys_in, pickled  # with LlamaIndex, so only now

        data, again = (pickled(recipe, workers=workers, again=one) for one in (False, True))
        return cls(data, again, keys_in(recipe), "" if is_elsewhere else str(Path.cwd()))

    def successor(self) -> Self:
        """The recipe of a process in the place of one that died."""
        return replace(self, data=self.again)

    def prepare(self) -> None:
        """Make the recipe, once in a process.

        Raises:
            ConfigurationError: it cannot be made here.
            MissingPackageError: a package is missing here.
        """
        from rag_nodes.models.rebuilding import unpickled

        if self.folder:
            os.chdir(self.folder)
        self.made = unpickled(self.data)
        if prepare := getattr(self.made, "prepare", None):
            prepare()
