"""Two pipelines of LlamaIndex with our parsers, compared in a tab and measured.

    OPENAI_API_KEY=sk-… python examples/two_pipelines.py chunks

`chunks` is the folder in which Qdrant keeps the second collection.
"""

import sys
from pathlib import Path

import gradio as gr
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import TransformComponent
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai import OpenAI
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from rag_nodes import HeadingHierarchyNodeParser, SentenceNodeParser, evaluate, load_dataset, read
from rag_nodes.apps import build_app

CORPUS = Path(__file__).parent / "corpus"
documents = [read(CORPUS / "ferry.pdf")]
models = {"embed_model": OpenAIEmbedding(), "llm": OpenAI()}


def engine(parser: TransformComponent, client: QdrantClient) -> BaseQueryEngine:
    """What you have: documents through a pipeline into Qdrant, and an engine that answers."""
    store = QdrantVectorStore(parser.class_name(), client=client)
    transformations = [parser, models["embed_model"]]
    IngestionPipeline(transformations=transformations, vector_store=store).run(documents=documents)
    index = VectorStoreIndex.from_vector_store(store, embed_model=models["embed_model"])
    return index.as_query_engine(llm=models["llm"], similarity_top_k=8)


engines = {
    "by heading": engine(HeadingHierarchyNodeParser(), QdrantClient(":memory:")),
    "by sentence": engine(SentenceNodeParser(), QdrantClient(path=sys.argv[1])),
}
report = evaluate(load_dataset(CORPUS / "ferry_questions.csv", documents), engines)
mine = gr.Interface(lambda question: str(engines["by heading"].query(question)), "text", "text")
compare = build_app(columns=engines, documents=documents, **models)
app = gr.TabbedInterface([mine, compare], ["Mine", "Compare"])

if __name__ == "__main__":
    print(*report.said, sep="\n")
    app.launch()
