"""Reports in, HTML out; everything that is not ours is escaped where it enters."""
