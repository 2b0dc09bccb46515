"""Models made from checked ones, since checking thousands of equal nodes costs more than them."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)


def like(checked: Model, **changes: Any) -> Model:
    """A model with some values changed, which are right by construction and not checked again.

    What `model_copy` does in twice the time, and making a node anew in four times. For models
    without private attributes; values that are not changed are shared with the other model.

    Args:
        checked: a model that was made the usual way.
        changes: values by field.
    """
    twin: Model = object.__new__(type(checked))
    adopt = object.__setattr__
    adopt(twin, "__dict__", {**checked.__dict__, **changes})
    adopt(twin, "__pydantic_fields_set__", set(changes))
    adopt(twin, "__pydantic_extra__", None)
    adopt(twin, "__pydantic_private__", None)
    return twin
