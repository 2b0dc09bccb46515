"""One user's documents, store and comparison, and who is here to use them."""
