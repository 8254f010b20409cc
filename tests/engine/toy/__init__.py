"""A pipeline of five small steps, for testing the engine."""
