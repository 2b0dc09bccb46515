"""Who may ask, how often and how much."""
