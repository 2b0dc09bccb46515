"""What `quality.py` measured, kept per question, and what is made of it for docs/results.md."""
