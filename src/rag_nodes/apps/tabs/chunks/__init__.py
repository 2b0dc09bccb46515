"""Where each parser cut the documents."""
