"""The parts of the page, each drawn from a session and shown on its screen."""
