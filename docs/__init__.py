"""Pages about the project. Those that follow from the code are made by `docs.generate`, and checked by it."""
