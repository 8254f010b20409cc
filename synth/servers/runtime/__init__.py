"""Files that run elsewhere: copied as they are, never imported by the engine."""
