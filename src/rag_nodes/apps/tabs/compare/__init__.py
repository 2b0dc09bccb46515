"""One question, one column per parser."""
