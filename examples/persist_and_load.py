"""An index that is stored and loaded: the chunks keep their ids, places, links and vectors.

python examples/persist_and_load.py [preset]

Nothing of a node is lost in JSON.
"""

import tempfile

from llama_index.core import StorageContext, load_index_from_storage
from stand_ins import EMBEDDING, QUESTION, index_of, preset_or


def main(preset: str) -> None:
    """Ask before storing and after loading."""
    index = index_of(preset)
    with tempfile.TemporaryDirectory() as folder:
        index.storage_context.persist(folder)
        storage = StorageContext.from_defaults(persist_dir=folder)
        loaded = load_index_from_storage(storage, embed_model=EMBEDDING)
    for name, one in (("stored", index), ("loaded", loaded)):
        hits = one.as_retriever(similarity_top_k=3).retrieve(QUESTION)
        print(f"{name}: {[f'{hit.node_id[:8]} {hit.score:.3f}' for hit in hits]}")


if __name__ == "__main__":
    main(preset_or("heading"))
