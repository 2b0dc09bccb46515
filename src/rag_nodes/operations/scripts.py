"""A parser with its models and options as a Python script that does the same anywhere."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, cast

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keys import has_user_info, is_secret
from rag_nodes.core.settings import DEFAULT_PROMPT, DEFAULT_SYSTEM_PROMPT, FASTEMBED
from rag_nodes.models.names import place_of
from rag_nodes.parsers import ForeignNodeParser
from rag_nodes.parsers.foreign.configuration import class_path
from rag_nodes.parsers.loading import base_of, changed_options, load_parser
from rag_nodes.query import QueryOptions
from rag_nodes.readers.pdf.engines import versions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM

    from rag_nodes.evaluation.compare import Comparison
    from rag_nodes.evaluation.tables import ReportDecision
    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser

_EMBEDDERS = ("embed_model", "sentence_model")
"""Options that take an embedding model; it is named in `embedding` as well."""
_OWN_LLM = """\
# {name} is defined in your own app, so this script leaves it out: answers are quoted sentences.
# To have it answer, define or import it here and write, in place of models=models below:
#     RagNodesQueryEngine(llm={name}(...), embed_model=models.embedding, ...)
"""
_OWN_EMBEDDING = """\
# {name} is defined in your own app, so this script leaves it out: only keywords are compared.
# To embed with it, define or import it here and write, after choose_models below:
#     models = rag_nodes.models.Models.of(embed_model={name}(...), llm=models.llm)
"""
_OWN_SPLITTER = """\
# {name} is defined in your own app, so this script leaves it out and splits by `retrieval`.
# To split with it, define or import it here and write, in place of get_parser below:
#     rag_nodes.parsers.ForeignNodeParser(splitter={name}(...)), or {name}(...) if it is a parser
"""
_AGPL = "    # pdf: PyMuPDF, AGPL or a commercial licence; pdfium reads PDF files without AGPL\n"
_TEMPLATE = '''\
"""Split documents into chunks, store them in Qdrant, answer a question from them.

    pip install "rag-nodes[{extras}]"   # its wheel first: no package index has it yet
{licence}    python {file} handbook.pdf --question "What must be checked every day?"

Run it as often as you like: the id of a chunk follows from its text, so nothing is stored twice.
"""

import argparse
{imports_standard}import sys

from rag_nodes import build_pipeline
from rag_nodes.models import choose_models
{import_parser}
from rag_nodes.query import QueryOptions, RagNodesQueryEngine
from rag_nodes.readers import read_all
from rag_nodes.core.settings import Settings
from rag_nodes.store import open_store, parser_collection

{models}

{own_splitter}# How documents are split; every chunk is an exact slice of its document.
PARSER = {made_by}({parser})

# How much of what is found is read for an answer.
OPTIONS = QueryOptions({options})


def read(paths):
    """The documents that could be read; what is wrong with the others is said on stderr."""
    documents = []
    for result in read_all(paths):
        if result.document is None:
            print(result.error, file=sys.stderr)
        else:
            documents.append(result.document)
    return documents


def main():
    """Ingest, ask, print the answer and the places it comes from."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("paths", nargs="+", help="files and folders")
    arguments.add_argument("--question", required=True)
    arguments.add_argument("--store", default="./rag_nodes_export", help="folder or Qdrant URL")
    chosen = arguments.parse_args()
    documents = read(chosen.paths)
    if not documents:
        sys.exit("No document could be read: name other files.")

    models = choose_models(SETTINGS)
    parser = {parser_object}
    collection = parser_collection("export", parser, models.embedding_name)
    with open_store(chosen.store) as store:
        # An IngestionPipeline of LlamaIndex: parser, your extractors, guard, embedding.
        pipeline = build_pipeline(
            parser,
            embed_model=models.embedding,
            transformations=[],  # extractors of LlamaIndex, or your own
            disable_cache=True,
        )
        nodes = pipeline.run(documents=documents)
        # A QdrantVectorStore of LlamaIndex, with a BM25 vector beside each embedding.
        store.vector_store(collection).add(nodes)
        print(f"{{store.count(collection)}} chunks in {{collection}}", file=sys.stderr)

        # A LlamaIndex query engine: engine.query(...) gives a LlamaIndex response.
        # Without document_ids, it also answers from the files of earlier runs.
        engine = RagNodesQueryEngine(
            store=store,
            collection=collection,
            models=models,
            options=OPTIONS,
            document_ids=[document.id_ for document in documents],
        )
        answer = engine.answer(chosen.question)
    print(answer.text)
    for citation in answer.citations:
        page = f", page {{citation.page}}" if citation.page else ""
        print(f"  [Source {{citation.number}}] {{citation.file_name}}{{page}}")


if __name__ == "__main__":
    main()
'''


def script_name(strategy: str) -> str:
    """File name of the script of a strategy."""
    return f"rag_{_plain(strategy)}.py"


def _plain(name: str, also: str = "") -> str:
    """A name without anything that a path or a literal could end at."""
    return "".join(letter if letter.isalnum() or letter in also else "_" for letter in name)


def script_of(comparison: Comparison, strategy: str) -> str:
    """A script that ingests and answers as the session does, without any key in it.

    Args:
        comparison: parsers, models and options of the session.
        strategy: name of the parser in it.

    Raises:
        ConfigurationError: no such parser, or one that no script can name.
    """
    parser = comparison.parsers.get(strategy)
    if parser is None:
        raise ConfigurationError(f"no parser '{strategy}' in this comparison: choose another")
    return script_for(strategy, parser, comparison.models, comparison.options)


def script_for(
    name: str, parser: SpanNodeParser, models: Models, options: QueryOptions, file: str = ""
) -> str:
    """A script that ingests and answers with one parser, without any key in it.

    Everything that was typed in stands in it as a Python literal, so none of it can be code.

    Args:
        name: what the parser is called here, which names the preset if there is one of that name,
            and the file unless `file` does.
        parser: one of ours, or a splitter that was named by its import path.
        models: embedding model and LLM.
        options: how is answered.
        file: what the script will be called.

    Raises:
        ConfigurationError: a splitter was given as an object, which no script can name.
    """
    chosen, pdf = _models(models), _pdf_extra()
    asks_openai = "os.environ" in chosen
    embedder = next((field for field in _EMBEDDERS if getattr(parser, field, None)), None)
    home, own_splitter = "rag_nodes.parsers", ""
    if own := _name_in_app(parser):
        made_by, arguments, embedder = "get_parser", repr("retrieval"), None
        own_splitter = _OWN_SPLITTER.format(name=own)
    elif isinstance(parser, ForeignNodeParser):
        made_by, arguments = "ForeignNodeParser", _arguments([], {"path": _path_of(parser)})
    elif (base := base_of(parser, name)) is None:
        home, made_by = type(parser).__module__, type(parser).__name__
        given = _options_of(parser)
        if embedder:
            given.pop("embedding", None)
        public = {name: value for name, value in given.items() if not has_user_info(value)}
        arguments = _arguments([], public)
    else:
        made_by = "get_parser"
        arguments = _arguments([repr(base.name)], _changed(parser, base.make(), embedder))
    return _TEMPLATE.format(
        extras=f"{pdf},qdrant,openai" if asks_openai else f"{pdf},qdrant",
        licence=_AGPL if pdf == "pdf" else "",
        file=_plain(file, also="._-") or script_name(name),
        imports_standard="import os\n" if asks_openai else "",
        models=chosen,
        import_parser=f"from {home} import {made_by}",
        own_splitter=own_splitter,
        made_by=made_by,
        parser=arguments,
        parser_object=(
            f"PARSER.model_copy(update={{{embedder!r}: models.embedding}})"
            if embedder
            else "PARSER"
        ),
        options=_arguments([], _answer_options(options)),
    )


def script_to_use(
    decision: ReportDecision, models: Models, file: str, options: QueryOptions | None = None
) -> str:
    """Return a script that ingests and answers with what a decision says to take.

    Args:
        decision: names a parser.
        models: embedding model and LLM.
        file: what the script will be called.
        options: how is answered; None for as it was measured.
    """
    parser = cast("SpanNodeParser", load_parser(decision.parser))
    options = options or QueryOptions(**cast("dict[str, Any]", decision.query))
    return script_for(decision.preset.partition(":")[0], parser, models, options, file)


def _models(models: Models) -> str:
    """The assignment of SETTINGS with a comment above it."""
    chosen = {**_embedding(models.embedding), **_llm(models.llm, models.answer_name)}
    if models.prompt != DEFAULT_PROMPT:
        chosen["prompt"] = models.prompt
    if models.system_prompt != DEFAULT_SYSTEM_PROMPT:
        chosen["system_prompt"] = models.system_prompt
    line = "# Models that need no key and no network."
    if "openai" in (chosen["embedding"], chosen["llm"]):
        line = "# The key is read from the environment, and sent to the address below or to OpenAI."
    elif "embedding_options" in chosen or "llm_options" in chosen:
        line = "# Models by their import path: install their packages, and set the keys they read."
    arguments = [f"{name}={value!r}" for name, value in chosen.items() if value is not None]
    if "openai" in (chosen["embedding"], chosen["llm"]):
        place = getattr(models.llm, "api_base", None) or getattr(models.embedding, "api_base", None)
        arguments += [f"api_base={place!r}", 'api_key=os.environ.get("OPENAI_API_KEY")']
    own = _OWN_EMBEDDING.format(name=name) if (name := _name_in_app(models.embedding)) else ""
    own += _OWN_LLM.format(name=name) if models.llm and (name := _name_in_app(models.llm)) else ""
    return f"{own}{line}\nSETTINGS = Settings({_wrapped(arguments)})"


def _embedding(model: BaseEmbedding) -> dict[str, Any]:
    """The settings that name an embedding model."""
    name = model.class_name()
    if name == "RagNodesOpenAIEmbedding":
        return {"embedding": "openai", "embedding_model": model.model_name}
    if name == "RagNodesFastEmbedEmbedding":
        return {"embedding": f"{FASTEMBED}{model.model_name}"}
    if place_of(model) == "offline" or _name_in_app(model):
        return {"embedding": "lexical"}
    path, options = _written_as(model)
    return {"embedding": path, "embedding_options": options or None}


def _llm(model: LLM | None, name: str) -> dict[str, Any]:
    """The settings that name what writes answers."""
    if model is None or _name_in_app(model):
        return {"llm": "extractive"}
    if model.class_name() != "rag_nodes_openai_llm":
        path, options = _written_as(model)
        return {"llm": path, "llm_options": options or None}
    written = {"temperature": "temperature", "max_tokens": "max_output_tokens"}
    options = {setting: getattr(model, field, None) for field, setting in written.items()}
    return {"llm": "openai", "llm_model": name, **options}


def _written_as(model: BaseEmbedding | LLM) -> tuple[str, dict[str, Any]]:
    """The import path of a model's class, and its options."""
    return class_path(model), _options_of(model)


def _options_of(thing: BaseEmbedding | LLM | SpanNodeParser) -> dict[str, Any]:
    """Options in plain data that are not the defaults of the class, of which none is made.

    Keys are left out, whoever runs the script has their own.
    """
    return {
        name: value
        for name, field in type(thing).model_fields.items()
        if not (field.exclude or is_secret(name))
        and isinstance(value := getattr(thing, name), str | int | float | list | dict)
        and value not in (field.default, field.get_default(call_default_factory=True))
    }


def _name_in_app(thing: BaseEmbedding | LLM | SpanNodeParser) -> str:
    """Return the name of a class that only the user's running app has; "" if scripts import it."""
    path = class_path(thing)
    if isinstance(thing, ForeignNodeParser):
        path = thing.path or thing.splitter_class
    module, _, name = path.partition("(")[0].partition(":")
    return name.rpartition(".")[2] if module == "__main__" or "<locals>" in name else ""


def _pdf_extra() -> str:
    """Return the extra of the PDF library that is read with here; `pdfium` if there is none."""
    return "pdf" if next(iter(versions()), "") == "pymupdf" else "pdfium"


def _path_of(parser: ForeignNodeParser) -> str:
    """Return the import path by which a script makes the splitter of another package.

    Raises:
        ConfigurationError: whoever started the server gave it as an object.
    """
    if not parser.path:
        raise ConfigurationError(
            f"{parser.splitter_class} was given to this server as an object, which no script can "
            "name; ask whoever runs it to offer it by import path"
        )
    return parser.path


def _changed(
    parser: SpanNodeParser, default: SpanNodeParser, embedder: str | None
) -> dict[str, Any]:
    """Return the options of a parser that differ, without the model that the script sets."""
    left_out = {"embedding"} if embedder else set()
    changed = changed_options(parser, default)
    return {name: value for name, value in changed.items() if name not in left_out}


def _answer_options(options: QueryOptions) -> dict[str, Any]:
    """Room for context always, the rest where it differs from the default."""
    usual = QueryOptions()
    if replace(options, granularity=None).reads_sentences == options.reads_sentences:
        options = replace(options, granularity=None)
    values = {item.name: getattr(options, item.name) for item in fields(options)}
    return {
        name: value
        for name, value in values.items()
        if name in {"budget", "top_k"}
        or (isinstance(value, str | int | float) and value != getattr(usual, name))
    }


def _arguments(first: list[str], named: Mapping[str, Any]) -> str:
    return _wrapped([*first, *(f"{name}={value!r}" for name, value in named.items())])


def _wrapped(arguments: list[str]) -> str:
    """On one line where they fit, else one below the other."""
    line = ", ".join(arguments)
    if len(line) <= 70:  # noqa: PLR2004 - with the name in front still under 100
        return line
    return "\n    " + ",\n    ".join(arguments) + ",\n"
