"""What visitors think of the answers, kept and counted."""
