"""Parsing in a process of its own, so that a hostile document ends that process and no other."""
