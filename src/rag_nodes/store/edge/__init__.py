"""Qdrant's own engine in this process, by `qdrant-edge-py`: nothing else touches that package.

What a new version of it may change without a word is written down in
`tests/store/test_inside_edge.py`, a test per assumption.
"""
