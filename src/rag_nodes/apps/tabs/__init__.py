"""The tabs of the page, a folder each."""
