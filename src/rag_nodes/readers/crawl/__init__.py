"""Crawls by Firecrawl."""
