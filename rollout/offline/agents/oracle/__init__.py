"""Agents that are built with the golden trajectory, and how they behave on the way."""
