"""`python apps/compare.py` opens the app, `gradio apps/compare.py` its page in reload mode.

`rag-nodes app` opens it with options.
"""

import os

from rag_nodes.apps import build_app
from rag_nodes.core.settings import Settings
from rag_nodes.server import launch
from rag_nodes.server.serve import launch_options

if __name__ == "__main__" and "GRADIO_WATCH_DIRS" not in os.environ:
    launch(Settings())
else:  # Gradio looks for blocks of this name
    demo = build_app(Settings())
    if __name__ == "__main__":
        demo.launch(**launch_options() | {"quiet": False})
