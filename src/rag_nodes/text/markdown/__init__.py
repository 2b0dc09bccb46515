"""Where the blocks of a Markdown text are."""
