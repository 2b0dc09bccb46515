"""Models that need no key, no network and no download."""
