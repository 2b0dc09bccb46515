"""`python apps/compare.py` opens the app; `rag-nodes app` does the same with options."""

from rag_nodes.server import launch
from rag_nodes.settings import Settings

if __name__ == "__main__":
    launch(Settings())
