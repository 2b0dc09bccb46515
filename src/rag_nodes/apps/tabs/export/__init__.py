"""The comparison as a script to run elsewhere."""
