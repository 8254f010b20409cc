"""What the three programs stand on: the schema of all nouns, worlds, authors and the store."""
