"""Topics of a text: sentences as vectors, and the groups they make."""
