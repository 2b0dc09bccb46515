"""Two pipelines of LlamaIndex with our parsers, compared in a tab and measured.

Run it as `OPENAI_API_KEY=sk-… python examples/two_pipelines.py FOLDER`: Qdrant keeps the second
collection in FOLDER.
"""

import sys
from pathlib import Path

import gradio as gr
from llama_index.core import VectorStoreIndex
from llama_index.core.ingestion import IngestionPipeline
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from rag_nodes import evaluate, load_dataset, read
from rag_nodes.apps import build_app
from rag_nodes.parsers import HeadingHierarchyNodeParser, SentenceNodeParser

CORPUS = Path(__file__).parent / "corpus"
documents = [read(CORPUS / "ferry.pdf")]

pipelines = {
    "by heading": (HeadingHierarchyNodeParser(), QdrantClient(":memory:")),
    "by sentence": (SentenceNodeParser(), QdrantClient(path=sys.argv[1])),
}
engines = {}
for name, (parser, client) in pipelines.items():
    store = QdrantVectorStore("ferry", client=client)
    pipeline = IngestionPipeline(transformations=[parser, OpenAIEmbedding()], vector_store=store)
    pipeline.run(documents=documents)
    index = VectorStoreIndex.from_vector_store(store)
    engines[name] = index.as_query_engine(similarity_top_k=8)

report = evaluate(load_dataset(CORPUS / "ferry_questions.csv", documents), engines)
print(*report.said, sep="\n")

mine = gr.Interface(lambda question: str(engines["by heading"].query(question)), "text", "text")
compare = build_app(columns=engines, documents=documents)
gr.TabbedInterface([mine, compare], ["Mine", "Compare"]).launch()
