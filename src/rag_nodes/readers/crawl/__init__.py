"""Crawls in, one reading per page out, whatever shape the crawler gave them."""

from rag_nodes.readers.crawl.reader import read_firecrawl

__all__ = ["read_firecrawl"]
