"""Recipe of an ingest, its collections, and the versions of documents.

The version of a document depends on its content, and on the code of all that is done to it. Code is
found out once in a run, by the process that drives it: workers receive it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass, replace
from importlib.metadata import version
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.core.code_identity import code_of
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.metadata import BLANK_PAGES, READ_WARNINGS, SOURCE_HASH
from rag_nodes.embedding import SectionSummary, UserTransformations, identity_of
from rag_nodes.models.kept import KeptAnswers
from rag_nodes.parsers import ForeignNodeParser
from rag_nodes.parsers.foreign.configuration import class_path
from rag_nodes.parsers.media import has_media
from rag_nodes.pipeline.ledger import FILE_NAME, CollectionRow, model_of, source_hash_of, version_of
from rag_nodes.store import parser_collection
from rag_nodes.text.packing import Packer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import Document, TransformComponent

    from rag_nodes.embedding.build import Parse
    from rag_nodes.embedding.column import Tell
    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.readers import Limits, Ocr

WRITTEN_FILE = "written.sqlite"
"""Name of the file that keeps what an LLM wrote for an ingest, in the folder of its store."""
_HIDDEN = ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys")


@dataclass(eq=False)
class IngestRecipe:
    """Parsers, models and transformations that all units of an ingest share, in this process.

    `parse` makes the nodes of a document, None to have the parser do it; `tell` hears of what is
    done, as it is done; `has_embedded` says that the model has answered, so that several requests
    may be under way.
    """

    parsers: Mapping[str, SpanNodeParser]
    models: Models
    steps: Sequence[TransformComponent]
    limits: Limits
    origins: Origins
    parse: Parse | None = None
    tell: Tell | None = None
    has_embedded: bool = False

    def prepare(self) -> None:
        """Load vocabularies and sentence rules, else the first parser would look slow."""
        for tokenizer in {parser.tokenizer for parser in self.parsers.values()}:
            Packer("Warm up. Then run.", encoding=tokenizer).unit_starts(0, 1)

    def for_workers(self, *, is_remote: bool) -> IngestRecipe:
        """The same for other processes, which on other machines do not have the files."""
        steps = [
            step.model_copy(update={"kept": None})
            if is_remote and isinstance(step, SectionSummary)
            else step
            for step in self.steps
        ]
        return replace(self, models=replace(self.models, llm=None), steps=steps)


class Origins(NamedTuple):
    """Code that the versions of documents depend on, beside their content.

    `steps` are this release and each transformation with its options and code, and `codes` of each
    column by name, see `rag_nodes.pipeline.ledger.version_of`: "" if all of it belongs to this
    package.
    Code whose changes cannot be detected counts as changed in every run; `unhashable` says why, a
    clause for each. `splitters` are the codes of the splitters alone, by column. `ocr` is the
    command that reads scanned pages, or the code of the function; "" for none.
    """

    steps: Sequence[str]
    codes: Mapping[str, str]
    unhashable: tuple[str, ...] = ()
    splitters: Mapping[str, str] = MappingProxyType({})
    ocr: str = ""

    def reembedded(self, name: str, stored: str) -> str:
        """Return the version of a document in a column once its stored chunks are embedded here.

        Args:
            name: of the column.
            stored: version of the chunks, by whatever embedding model.

        Returns:
            "" if other code of the splitter may have made the chunks.
        """
        splitter, model = self.splitters[name], model_of(stored)
        code = stored.rpartition(":")[0]
        if not stored or (splitter and code != _code(splitter, model, is_own=bool(model))):
            return ""
        return version_of(source_hash_of(stored), self.codes[name])

    @classmethod
    def of(
        cls,
        parsers: Mapping[str, SpanNodeParser],
        model: BaseEmbedding,
        transformations: Sequence[TransformComponent] = (),
        ocr: Ocr | None = None,
    ) -> Origins:
        """Return the origins of an ingest.

        Raises:
            ConfigurationError: one is no transformation, or cannot say what it is made of.
        """
        unhashable: dict[str, None] = {}

        def digest(thing: object) -> str:
            code = code_of(thing)
            if not code.unhashable:
                return code.digest
            name = class_path(thing)
            unhashable[f"Changes of {name} cannot be detected ({code.unhashable})"] = None
            return secrets.token_hex(8)

        cutting = {
            name: digest(parser.splitter if isinstance(parser, ForeignNodeParser) else parser)
            for name, parser in parsers.items()
        }
        embedding, is_own = digest(model), code_of(model).is_own
        codes = {
            name: _code(component, embedding, is_own=is_own) for name, component in cutting.items()
        }
        steps = [version("rag-nodes")]
        for step in UserTransformations(transformations).steps:
            is_hashable = not code_of(step).unhashable
            steps.append(identity_of(step) + ("" if is_hashable else digest(step)))
        reads = digest(ocr) if callable(ocr) else ocr or ""
        return cls(steps, codes, tuple(unhashable), cutting, reads)


def _code(splitter: str, embedding: str, *, is_own: bool) -> str:
    """Return the code of a column by the digests of its splitter and of its embedding model."""
    both = hashlib.sha256(f"{splitter}/{embedding}".encode()).hexdigest()[:16]
    return (both if splitter or embedding else "") + (f"-{embedding}" if is_own else "")


def kept_beside(ledger: Path | None) -> KeptAnswers | None:
    """Return the kept answers of an LLM beside the ledger of a store; None without a file of it.

    Raises:
        ConfigurationError: nothing can be written there.
    """
    if ledger is None or ledger.name == ":memory:":
        return None
    name = WRITTEN_FILE if ledger.name == FILE_NAME else f"{ledger.stem}.{WRITTEN_FILE}"
    return KeptAnswers(ledger.with_name(name))


def collections_of(
    parsers: Mapping[str, SpanNodeParser], corpus: str, models: Models
) -> dict[str, str]:
    """The collection of each parser, by its name.

    Raises:
        ConfigurationError: two parsers have the same.
    """
    collections: dict[str, str] = {}
    for name, parser in parsers.items():
        collection = parser_collection(corpus, parser, models.embedding_name)
        for other, taken in collections.items():
            if taken == collection:
                raise ConfigurationError(
                    f"parsers '{other}' and '{name}' have the same configuration; "
                    "change an option of one, or leave one out"
                )
        collections[name] = collection
    return collections


def collection_row(
    name: str, parser: SpanNodeParser, corpus: str, models: Models, entry: CollectionRow | None
) -> CollectionRow:
    """Return the row for a ledger of the collection of a parser."""
    return CollectionRow(
        name,
        corpus,
        parser.class_name(),
        parser.fingerprint,
        json.dumps(parser.to_dict(), default=str),
        models.embedding_name,
        entry.dimension if entry else None,
    )


def hashed(document: Document, steps: Sequence[str]) -> Document:
    """The document with a hash of all that its nodes are made of in every column.

    Text, pages, metadata and what it holds beside text, and `Origins.steps`.
    """
    ignored = (SOURCE_HASH, READ_WARNINGS, BLANK_PAGES)
    facts = sorted((key, value) for key, value in document.metadata.items() if key not in ignored)
    media = [document.hash] if has_media(document) else []
    content = json.dumps([document.text, facts, *media, *steps], default=str, skipkeys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()
    keys = {
        hidden: [*dict.fromkeys((*getattr(document, hidden), SOURCE_HASH))] for hidden in _HIDDEN
    }
    return document.model_copy(
        update={"metadata": {**document.metadata, SOURCE_HASH: digest}, **keys}
    )
