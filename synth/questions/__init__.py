"""Prompts, one file a question, and the types of their answers."""
