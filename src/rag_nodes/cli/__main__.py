"""`python -m rag_nodes.cli`, where the script is not on the path."""

from rag_nodes.cli import main

main()
