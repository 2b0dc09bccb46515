"""Aliases that others made on a server."""

from contextlib import closing

from qdrant_client import QdrantClient
from qdrant_client.http import models as rest
from stored_nodes import MakeNode

from rag_nodes.store import Query, Store, open_store

X = [1.0, 0.0, 0.0]
ALIAS = "docs-of-tests"


def texts_of(store: Store, name: str) -> list[str]:
    return [hit.node.text for hit in store.search(name, Query(vector=X, text="zebra", limit=5))]


def point(client: QdrantClient, collection: str) -> None:
    """Have the alias mean a collection, as another program does."""
    gone = rest.DeleteAliasOperation(delete_alias=rest.DeleteAlias(alias_name=ALIAS))
    alias = rest.CreateAlias(alias_name=ALIAS, collection_name=collection)
    client.update_collection_aliases([gone, rest.CreateAliasOperation(create_alias=alias)])


def test_a_collection_on_a_server_is_read_by_its_alias(
    server_url: str, collection: str, make_node: MakeNode
) -> None:
    newer = collection.replace(".fake-3.", ".fake-2.")
    client = closing(QdrantClient(server_url, check_compatibility=False))
    with open_store(server_url) as store, client as other:
        store.add(collection, [make_node("old zebra", X)])
        store.add(newer, [make_node("new zebra", X[:2])])
        point(other, collection)
        assert store.resolved(ALIAS) == collection
        assert store.resolved(collection) == collection
        assert texts_of(store, ALIAS) == ["old zebra"]
        point(other, newer)
        assert store.resolved(ALIAS) == newer
        [hit] = store.search(ALIAS, Query(vector=X[:2], text="zebra", limit=5))
        assert hit.node.text == "new zebra"
        assert ALIAS not in {collection.name for collection in store.collections()}
