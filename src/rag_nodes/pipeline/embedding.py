"""Chunks in, chunks with vectors out; one that the model refuses costs no other."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rag_nodes.errors import ModelRequestError, RagNodesError, UnknownModelError
from rag_nodes.parsers.parent_child import is_leaf
from rag_nodes.pipeline.batches import Waiting, lacks_vector

if TYPE_CHECKING:
    from collections.abc import Callable

    from llama_index.core.schema import BaseNode

    from rag_nodes.models import Models
    from rag_nodes.pipeline.deposit import Deposit

logger = logging.getLogger(__name__)


def embed(
    part: Waiting,
    models: Models,
    refused: Callable[[BaseNode, Deposit, ModelRequestError], None],
) -> Waiting:
    """Give chunks their vectors; where a request is refused, each chunk goes alone (S3-19).

    Args:
        part: what one request takes.
        models: gives the embedding model.
        refused: called for every chunk that the model refuses by itself.

    Returns:
        What can be stored now.

    Raises:
        UnknownModelError: every chunk would be refused alike.
        CredentialsError, ModelError: the request failed otherwise.
    """
    try:
        _embed([node for node, _ in part if lacks_vector(node)], models)
    except UnknownModelError:
        raise
    except ModelRequestError as error:
        if len(part) == 1:
            [(node, deposit)] = part
            refused(node, deposit, error)
            return []
        logger.info("a request was refused, embedding its chunks one by one")
        accepted = [one for alone in part for one in embed([alone], models, refused)]
        # Parents are stored with their children, of which none may have been accepted.
        return accepted if any(is_leaf(node) for node, _ in accepted) else []
    return part


def _embed(nodes: list[BaseNode], models: Models) -> None:
    """Give the nodes their vectors, in place."""
    from rag_nodes.models import map_model_error

    if not nodes:
        return
    try:
        models.embedding(nodes)
    except RagNodesError:
        raise
    except Exception as error:
        # Any LlamaIndex embedding can be plugged in, and each raises its provider's errors.
        raise map_model_error(error, model=models.embedding_name, api_base=None) from error
