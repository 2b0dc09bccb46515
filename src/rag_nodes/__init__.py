"""LlamaIndex node parsers whose chunks are exact slices, and tools to compare them."""
