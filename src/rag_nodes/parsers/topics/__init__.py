"""Where the topic of a text changes: sentences as vectors, and the groups they make."""
