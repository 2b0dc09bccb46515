"""Where the topic of a text changes: sentences as vectors, and the runs they make."""
