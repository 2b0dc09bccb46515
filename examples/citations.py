"""`CitationQueryEngine`: sources are numbered, and every one has its place in a document.

    python examples/citations.py [preset]

The engine cuts what was found into sources; with a parser of ours those are exact slices too.
"""

from llama_index.core.query_engine import CitationQueryEngine
from stand_ins import ANSWER, QUESTION, Scripted, documents, index_of, preset_or

from rag_nodes import get_parser


def main(preset: str) -> None:
    """Print the answer, and where each source is from."""
    engine = CitationQueryEngine.from_args(
        index_of(preset),
        llm=Scripted(lines=[f"{ANSWER} [1]"]),
        similarity_top_k=2,
        text_splitter=get_parser("token-overlap", chunk_size=120, whole_document_below=0),
    )
    response = engine.query(QUESTION)
    print(response)
    texts = {document.id_: document.text for document in documents()}
    for hit in response.source_nodes:
        number, _, quoted = hit.text.partition("\n")
        start, end = hit.metadata["start_char"], hit.metadata["end_char"]
        within = quoted.strip() in texts[hit.node.ref_doc_id][start:end]
        print(f"{number} {hit.node.ref_doc_id} {start}-{end} {'exact' if within else 'changed'}")


if __name__ == "__main__":
    main(preset_or("heading"))
