"""What `quality.py` measured, kept per question, and the tables made of it."""
