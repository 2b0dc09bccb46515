"""Questions as LlamaIndex's components hand them on: a text, a bundle, or a bundle in a bundle."""

from __future__ import annotations

from dataclasses import replace

from llama_index.core.schema import QueryBundle


def innermost(given: str | QueryBundle) -> QueryBundle:
    """Return a bundle whose question is a text.

    Components annotate a `QueryBundle` and pass on a text, or wrap a bundle again: a chat
    engine that is asked a bundle calls its postprocessors with a bundle whose `query_str` is that
    bundle.

    Args:
        given: a question in any of these forms.

    Returns:
        The innermost bundle, with its embedding, or one that an outer bundle has.
    """
    embedding = None
    while isinstance(given, QueryBundle) and isinstance(given.query_str, QueryBundle):
        embedding = embedding or given.embedding
        given = given.query_str
    if not isinstance(given, QueryBundle):
        return QueryBundle(given)
    return given if given.embedding else replace(given, embedding=embedding)
