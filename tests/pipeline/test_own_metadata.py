"""Own metadata reach the chunks of files, filter them, and are embedded only where named."""

import logging
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.schema import TextNode

from rag_nodes import FileMetadata, Filter, build_pipeline
from rag_nodes.core import metadata
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.metadata import EMBEDDED_METADATA
from rag_nodes.core.own_metadata import MAX_KEYS, is_own_key, own_metadata, typed_metadata
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest, ingest_documents
from rag_nodes.store import Query, Store

PARSERS = {"fixed": get_parser("fixed", chunk_size=200, chunk_overlap=0)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    (docs / "hr").mkdir(parents=True)
    (docs / "hr" / "leave.md").write_text("Leave is 30 days.")
    (docs / "hr" / "pay.txt").write_text("Pay day is Friday.")
    (docs / "plan.md").write_text("---\ndept: board\nyear: 2020\ntitle: Plan\n---\nWe grow.")
    return docs


def stored_metadata(store: Store, where: dict[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """Own keys by file name, of the chunks that pass a filter."""
    [name] = store.engine.names()
    query = Query([1.0, 1.0, 1.0], None, 99, "dense", Filter(where=where))
    nodes = [hit.node for hit in store.search(name, query)]
    return {node.metadata["file_name"]: own_metadata(node.metadata) for node in nodes}


def csv_in(folder: Path, text: str) -> Path:
    path = folder / "metadata.csv"
    path.write_text(text, "utf-8")
    return path


def test_rows_patterns_and_keys_of_all_files_reach_the_chunks(
    store: Store, models: Models, folder: Path
) -> None:
    table = csv_in(
        folder.parent,
        "path;dept;tags;year\ndocs/hr;hr;;2023\n*.txt;;a|b;\ndocs/hr/pay.txt;;;2024\n",
    )
    own = FileMetadata({"site": "Bern"}, table)
    ingest([folder], PARSERS, store, models=models, metadata=own)
    assert stored_metadata(store) == {
        "leave.md": {"dept": "hr", "year": 2023, "site": "Bern"},
        "pay.txt": {"dept": "hr", "tags": ["a", "b"], "year": 2024, "site": "Bern"},
        "plan.md": {"dept": "board", "year": 2020, "site": "Bern"},
    }
    assert own.unmatched() == ""
    assert stored_metadata(store, {"tags": "b"}).keys() == {"pay.txt"}
    assert stored_metadata(store, {"dept": ["hr", "it"], "tags": None}).keys() == {"leave.md"}
    assert stored_metadata(store, {"year": {"<": 2023}}).keys() == {"plan.md"}


def test_a_path_with_the_signs_of_patterns_is_that_file_as_well(
    store: Store, models: Models, folder: Path
) -> None:
    for name in ("pay[1].txt", "pay1.txt"):
        (folder / "hr" / name).write_text("Pay day is Monday.")
    own = FileMetadata(csv=csv_in(folder, "path,dept\nhr/pay[1].txt,a\npay[1].txt,b\n"))
    ingest([folder / "hr"], PARSERS, store, models=models, metadata=own)
    assert (
        stored_metadata(store)["pay[1].txt"] == stored_metadata(store)["pay1.txt"] == {"dept": "b"}
    )
    assert own.unmatched() == ""


def test_keys_that_a_run_gives_no_more_are_reported_and_removed(
    store: Store, models: Models, folder: Path
) -> None:
    def run(*, dry_run: bool = False, **own: Any) -> tuple[tuple[str, ...], int]:
        report = ingest(
            [folder], parsers, store, models=models, metadata=FileMetadata(own), dry_run=dry_run
        )
        return report.removed_keys, report.without_keys

    parsers = PARSERS | {"recursive": get_parser("recursive")}
    assert run(site="Bern", owner="Ann") == ((), 0)
    assert run(site="Basel", owner="Ann") == ((), 0)
    assert run(site="Bern", dry_run=True) == (("owner",), 3)
    (folder / "plan.md").write_text("We grow.")
    assert run(site="Bern") == (("dept", "owner", "year"), 3)
    assert run(site="Bern") == ((), 0)


def test_a_changed_value_is_stored_and_nothing_is_embedded_again(
    store: Store, models: Models, embedding: Any, folder: Path
) -> None:
    def run(**own: Any) -> list[str]:
        report = ingest([folder], PARSERS, store, models=models, metadata=FileMetadata(own))
        return [file.status for file in report.files]

    run(state="draft")
    embedded = len(embedding.texts)
    assert run(state="draft") == ["unchanged"] * 3
    assert run(state="final") == ["read"] * 3
    assert {own["state"] for own in stored_metadata(store).values()} == {"final"}
    assert run() == ["read"] * 3
    assert not any("state" in own for own in stored_metadata(store).values())
    assert len(embedding.texts) == embedded


def test_one_changed_row_makes_its_file_due_alone(
    store: Store, models: Models, folder: Path
) -> None:
    def run(text: str) -> dict[str, str]:
        own = FileMetadata(csv=csv_in(folder, text))
        report = ingest(
            [folder / "hr", folder / "metadata.csv"], PARSERS, store, models=models, metadata=own
        )
        return {Path(file.path).name: file.status for file in report.files}

    run("path,dept\nhr/leave.md,a\nhr/pay.txt,b\n")
    statuses = run("path,dept\nhr/leave.md,a\nhr/pay.txt,c\n")
    assert statuses == {"leave.md": "unchanged", "pay.txt": "read"}
    assert stored_metadata(store)["pay.txt"] == {"dept": "c"}


def test_rows_that_belong_to_no_file_are_named(
    store: Store, models: Models, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = FileMetadata(csv=csv_in(folder, "path,dept\nhr/leave.md,a\nhr/paid.txt,b\nx/*,c\n"))
    with caplog.at_level(logging.WARNING, "rag_nodes"):
        ingest([folder], PARSERS, store, models=models, metadata=own)
    assert "no file of this ingest is 'hr/paid.txt' (line 3) and 1 more" in caplog.text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "cannot be read"),
        ("dept,path\nhr,a.md\n", "first column must be called path"),
        ("path,source\na.md,x\n", "uses the key 'source' itself; choose another name"),
        ("path,doc_id\na.md,x\n", "own_doc_id"),
        ("path,page\na.md,x\n", "own_page"),
        ("path,_node\na.md,x\n", "cannot be a key"),
        ('path,"a=b"\na.md,x\n', "cannot be a key"),
        ("path,a,a\na.md,x,y\n", "same name"),
        ("path,a\na.md,x,y\n", "line 2: more cells than columns"),
        ("path,a\n,x\n", "line 2: the path is missing"),
        ("path,a\n!b,x\n", "line 2: the path is missing"),
        (f"path,a\na.md,{'x' * 2001}\n", "at most 2,000 characters"),
        (f"path,a\na.md,{'x|' * 101}\n", "at most 100 values"),
        ("path," + ",".join(f"k{n}" for n in range(MAX_KEYS + 1)), "give at most 50"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_with_its_line(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        FileMetadata(csv=csv_in(tmp_path, text))


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "metadata.csv").write_bytes(b"\x00\x01\x02" * 99)
    for path in (tmp_path / "metadata.csv", tmp_path / "none.csv", tmp_path):
        with pytest.raises(ConfigurationError, match="cannot be read"):
            FileMetadata(csv=path)


def test_typed_keys_have_values_of_their_kind() -> None:
    texts = ["a=1", "b=1.5", "c=true", "d=x|2", 'e="5"', "f = a=b", "g=007"]
    values = {"a": 1, "b": 1.5, "c": True, "d": ["x", 2], "e": "5", "f": "a=b", "g": "007"}
    assert typed_metadata(texts) == values


@pytest.mark.parametrize("text", ["a", "a=", "a=|", "=1", "title=x", "a|b=1"])
def test_typed_keys_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="--set"):
        typed_metadata([text])


def test_keys_and_values_given_in_python_are_checked() -> None:
    for wrong in ({"file_name": "a"}, {"a": {"b": 1}}, {"a": []}, {"a": float("inf")}):
        with pytest.raises(ConfigurationError, match="metadata: "):
            FileMetadata(wrong)  # type: ignore[arg-type] # what is refused


def test_front_matter_gives_keys_except_those_with_names_of_ours(
    store: Store, models: Models, tmp_path: Path
) -> None:
    matter = "dept: hr\nsource: /etc/passwd\nfile_path: x\n_id: 1\nnested: {a: 1}\ntags: [a, 2]"
    (tmp_path / "a.md").write_text(f"---\n{matter}\n---\nText.")
    ingest([tmp_path], PARSERS, store, models=models)
    assert stored_metadata(store) == {"a.md": {"dept": "hr", "tags": ["a", 2]}}


def test_no_key_that_nodes_have_of_ours_is_an_own_key() -> None:
    texts = {value for name, value in vars(metadata).items() if name.isupper()}
    ours = {text for text in texts if isinstance(text, str)}
    assert {metadata.TABLE, metadata.BREADCRUMB, metadata.TITLE} <= ours
    assert [key for key in ours if is_own_key(key)] == []
    with pytest.raises(ConfigurationError, match="uses the key 'Table' itself"):
        typed_metadata(["Table=5"])


def document() -> Document:
    return Document(
        text="Leave is 30 days.",
        id_="one",
        metadata={"dept": "zoology", "mood": "glad", "title": "Absence", "file_name": "one"},
        excluded_llm_metadata_keys=["mood"],
    )


@pytest.mark.parametrize(
    ("names", "embedded"),
    [
        ((), "{text}"),
        ("dept", "dept: zoology\n{text}"),
        (("title", "dept", "absent"), "dept: zoology\ntitle: Absence\n{text}"),
    ],
)
def test_only_named_keys_are_embedded_and_found_by_words(
    store: Store, models: Models, embedding: Any, names: Any, embedded: str
) -> None:
    documents = [document(), Document(text="Nothing else.", id_="two")]
    ingest_documents(documents, PARSERS, store, models=models, embed_metadata=names)
    assert embedded.format(text="Heading: Absence\n\nLeave is 30 days.") in embedding.texts
    [name] = store.engine.names()
    words = Query(None, "zoology", 9, "sparse")
    matches: list[TextNode] = [hit.node for hit in store.search(name, words) if hit.score]
    assert [node.ref_doc_id for node in matches] == (["one"] if names else [])
    for node in matches:
        assert node.text == "Leave is 30 days."
        assert {"mood", EMBEDDED_METADATA} <= {*node.excluded_llm_metadata_keys}
        assert "dept" not in node.excluded_llm_metadata_keys


def test_other_named_keys_make_documents_due(store: Store, models: Models, embedding: Any) -> None:
    for names, tokens in (((), True), ((), False), ("dept", True), ("dept", False)):
        before = len(embedding.texts)
        ingest_documents([document()], PARSERS, store, models=models, embed_metadata=names)
        assert (len(embedding.texts) > before) is tokens, names


def test_the_pipeline_embeds_what_an_ingest_does(models: Models, embedding: Any) -> None:
    for names in ((), ("dept",)):
        pipeline = build_pipeline("fixed", embed_model=models.embedding, embed_metadata=names)
        [node] = pipeline.run(documents=[document()])
        assert ("zoology" in embedding.texts[-1]) is bool(names)
        assert node.metadata["dept"] == "zoology"


@pytest.mark.parametrize("name", ["start_char", "Heading", " "])
def test_bookkeeping_cannot_be_embedded(name: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be embedded; name keys of your own"):
        build_pipeline("fixed", embed_metadata=[name])
