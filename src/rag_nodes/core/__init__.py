"""Parts below all others: errors, metadata keys, settings, files and processes."""
