"""One check a module: each says of a finished session, or of its messages, one thing with a score from 0 to 1."""
