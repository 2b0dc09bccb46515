"""`AutoMergingRetriever`: small chunks are found, and read as the section around them.

    python examples/auto_merging.py [preset]

Any preset will do; parents to merge into are made by `parent-child`.
"""

from llama_index.core.retrievers import AutoMergingRetriever
from stand_ins import QUESTION, index_of, preset_or


def main(preset: str) -> None:
    """Print what was found, and what is read in its place."""
    index = index_of(preset)
    base = index.as_retriever(similarity_top_k=6)
    merging = AutoMergingRetriever(base, index.storage_context)
    for name, retriever in (("found", base), ("read", merging)):
        hits = retriever.retrieve(QUESTION)
        print(f"{name}: {[len(hit.text) for hit in hits]} characters")


if __name__ == "__main__":
    main(preset_or("parent-child"))
