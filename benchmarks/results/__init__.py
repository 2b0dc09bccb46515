"""What `quality.py` measured, kept per question, and what is made of it for benchmarks/results.md."""
