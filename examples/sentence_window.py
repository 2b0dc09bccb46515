"""`MetadataReplacementPostProcessor`: one sentence is found, and read with those around it.

    python examples/sentence_window.py [preset]

The keys are LlamaIndex's own. Chunks of presets without windows are read as they are.
"""

from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from stand_ins import QUESTION, index_of, preset_or


def main(preset: str) -> None:
    """Print the best chunk before and after."""
    [hit] = index_of(preset).as_retriever(similarity_top_k=1).retrieve(QUESTION)
    print(f"found: {hit.text!r}")
    [read] = MetadataReplacementPostProcessor("window").postprocess_nodes([hit])
    print(f"read: {read.text!r}")


if __name__ == "__main__":
    main(preset_or("sentence-window"))
