"""What all units of an ingest share, and the code that the versions of documents depend on.

The code of parsers, models and transformations is found out once in a run, by the process that
drives it: workers are told.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from rag_nodes.code_identity import code_of
from rag_nodes.ledger import version_of
from rag_nodes.metadata import READ_WARNINGS, SOURCE_HASH
from rag_nodes.parsers import ForeignNodeParser
from rag_nodes.parsers.foreign.configuration import class_path
from rag_nodes.pipeline.build import column_pipeline
from rag_nodes.text.packing import Packer
from rag_nodes.transforms import (
    ChunkWriter,
    UserTransformations,
    identity_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import Document, TransformComponent

    from rag_nodes.code_identity import Code
    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline.build import ColumnPipeline, Parse
    from rag_nodes.pipeline.report import Stage
    from rag_nodes.readers import Limits

    Tell = Callable[[Stage, str, int, int], object]
    """Takes what was just done: stage, file or parser, how many chunks, tokens embedded."""


@dataclass(eq=False)
class IngestRecipe:
    """The parsers, models and transformations of an ingest in this process.

    `identities` and `codes` are those of `identities_of` and `codes_of`; `parse` makes the nodes of
    a document, None to have the parser do it; `tell` hears of what is done, as it is done.
    `stopped` says by name why columns gave up, as every further document would fail the same way;
    `has_embedded` that the model has answered, so that several requests may be under way;
    `columns` is made by `prepare`.
    """

    parsers: Mapping[str, SpanNodeParser]
    models: Models
    steps: Sequence[TransformComponent]
    limits: Limits
    identities: Sequence[str]
    codes: Mapping[str, str]
    parse: Parse | None = None
    tell: Tell | None = None
    stopped: dict[str, str] = field(default_factory=dict)
    has_embedded: bool = False
    columns: Sequence[ColumnPipeline] = ()

    def prepare(self) -> None:
        """Make the pipelines, once, with vocabularies and sentence rules loaded.

        Else the parser that runs first would look slow.
        """
        if self.columns:
            return
        for tokenizer in {parser.tokenizer for parser in self.parsers.values()}:
            Packer("Warm up. Then run.", encoding=tokenizer).unit_starts(0, 1)
        self.columns = [
            column_pipeline(
                name, self.codes[name], parser, self.models.embedding, self.steps, self.parse
            )
            for name, parser in self.parsers.items()
        ]

    def for_workers(self, *, is_remote: bool) -> IngestRecipe:
        """The same for other processes, which on other machines do not have the journals."""
        steps = [_without_journal(one) for one in self.steps] if is_remote else self.steps
        models = replace(self.models, llm=None)
        return IngestRecipe(
            self.parsers, models, list(steps), self.limits, self.identities, self.codes
        )


def _without_journal(step: TransformComponent) -> TransformComponent:
    return step.model_copy(update={"journal": None}) if isinstance(step, ChunkWriter) else step


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
    embedding = code_of(_asked(model))
    own = f"-{embedding.digest or _nonce(embedding)}" if embedding.is_own else ""
    return {name: _joined(parser_code(parser), embedding) + own for name, parser in parsers.items()}


def parser_code(parser: SpanNodeParser) -> Code:
    """The code of a parser, or of the splitter of another package that it wraps."""
    return code_of(_wrapped(parser))


def untold_of(
    parsers: Iterable[SpanNodeParser],
    model: BaseEmbedding,
    transformations: Sequence[TransformComponent] = (),
) -> Iterator[str]:
    """What cannot be told, and why, of all whose code cannot be: one clause for each."""
    for one in (*map(_wrapped, parsers), _asked(model), *transformations):
        if why := code_of(one).untold:
            yield f"Nobody can tell whether the code of {class_path(one)} changed ({why})"


def _wrapped(parser: SpanNodeParser) -> object:
    return parser.splitter if isinstance(parser, ForeignNodeParser) else parser


def _asked(model: BaseEmbedding) -> object:
    """The model that a dry run does not ask; any other is itself."""
    return getattr(model, "original", model)


def _nonce(code: Code) -> str:
    """What no other run has, where code cannot be told."""
    return secrets.token_hex(8) if code.untold else ""


def _joined(parser: Code, model: Code) -> str:
    parts = [one.digest or _nonce(one) for one in (parser, model)]
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:16] if any(parts) else ""


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
    hidden = ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys")
    keys = {one: [*dict.fromkeys((*getattr(document, one), SOURCE_HASH))] for one in hidden}
    return document.model_copy(
        update={"metadata": {**document.metadata, SOURCE_HASH: version}, **keys}
    )
