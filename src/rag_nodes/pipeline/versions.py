"""What the version of a document depends on: its content, and the code of all that is done to it.

Code is found out once in a run, by the process that drives it: workers are told.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from importlib.metadata import version
from typing import TYPE_CHECKING

from rag_nodes.code_identity import code_of
from rag_nodes.ledger import version_of
from rag_nodes.metadata import READ_WARNINGS, SOURCE_HASH
from rag_nodes.parsers import ForeignNodeParser
from rag_nodes.parsers.foreign.configuration import class_path
from rag_nodes.transforms import UserTransformations, identity_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import Document, TransformComponent

    from rag_nodes.code_identity import Code
    from rag_nodes.parsers import SpanNodeParser

_HIDDEN = ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys")


def identities_of(transformations: Sequence[TransformComponent]) -> list[str]:
    """This version of the package, and each transformation: its options and its code.

    Raises:
        ConfigurationError: one is no transformation, or cannot say what it is made of.
    """
    steps = UserTransformations(transformations).steps
    return [version("rag-nodes"), *(identity_of(one) + _nonce(code_of(one)) for one in steps)]


def codes_of(parsers: Mapping[str, SpanNodeParser], model: BaseEmbedding) -> dict[str, str]:
    """The code of each column, by its parser's name, see `rag_nodes.ledger.version_of`.

    It is "" where all of it is of this package, and another one in every run where it cannot be
    told.
    """
    embedding = code_of(model)
    own = f"-{embedding.digest or _nonce(embedding)}" if embedding.is_own else ""
    codes = {}
    for name, parser in parsers.items():
        parts = [one.digest or _nonce(one) for one in (code_of(_wrapped(parser)), embedding)]
        both = hashlib.sha256("/".join(parts).encode()).hexdigest()[:16] if any(parts) else ""
        codes[name] = both + own
    return codes


def untold_of(
    parsers: Iterable[SpanNodeParser],
    model: BaseEmbedding,
    transformations: Sequence[TransformComponent] = (),
) -> Iterator[str]:
    """What cannot be told, and why, of all whose code cannot be: one clause for each."""
    for one in (*map(_wrapped, parsers), model, *transformations):
        if why := code_of(one).untold:
            yield f"Nobody can tell whether the code of {class_path(one)} changed ({why})"


def _wrapped(parser: SpanNodeParser) -> object:
    return parser.splitter if isinstance(parser, ForeignNodeParser) else parser


def _nonce(code: Code) -> str:
    """What no other run has, where code cannot be told."""
    return secrets.token_hex(8) if code.untold else ""


def hashed(document: Document, identities: Sequence[str]) -> Document:
    """The document with a hash of all that its nodes are made of in every column.

    Text, pages and metadata, and what `identities_of` gave.
    """
    ignored = (SOURCE_HASH, READ_WARNINGS)
    facts = sorted((key, value) for key, value in document.metadata.items() if key not in ignored)
    content = json.dumps([document.text, facts, *identities], default=str, skipkeys=True)
    return _with_hash(document, hashlib.sha256(content.encode()).hexdigest())


def made_by(code: str, document: Document) -> Document:
    """The document with its version in the column of that code."""
    if not code:
        return document
    return _with_hash(document, version_of(str(document.metadata[SOURCE_HASH]), code))


def _with_hash(document: Document, version: str) -> Document:
    keys = {one: [*dict.fromkeys((*getattr(document, one), SOURCE_HASH))] for one in _HIDDEN}
    return document.model_copy(
        update={"metadata": {**document.metadata, SOURCE_HASH: version}, **keys}
    )
