"""Checks by a judge model: the task point by point, and the agent's manner."""
