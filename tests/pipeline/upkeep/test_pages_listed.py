"""Pages of a file, as `SimpleDirectoryReader` makes them, in the list of what is stored."""

from llama_index.core import Document

from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.pipeline.ledger import Ledger
from rag_nodes.pipeline.upkeep import Inventory, documents_named
from rag_nodes.store import open_store


def test_pages_are_listed_by_file_and_page_and_go_with_the_name_of_the_file() -> None:
    about = {"file_path": "/a/tea.pdf", "file_name": "tea.pdf"}
    pages = [
        Document(text=text, metadata={**about, "page_label": label})
        for label, text in (("1", "Boil the water."), ("ii", "Pour it."))
    ]
    with open_store() as store, Ledger(":memory:") as ledger:
        ingest_documents(pages, {"fixed": get_parser("fixed")}, store)
        inventory = Inventory(store, ledger)
        listed = inventory.documents("default", inventory.collections("default"))
        assert [(collection.name, collection.source) for collection in listed] == [
            ("tea.pdf, page 1", "/a/tea.pdf"),
            ("tea.pdf, page ii", "/a/tea.pdf"),
        ]
        for word in ("tea.pdf", "/a/tea.pdf"):
            assert documents_named("default", [word], listed) == listed
