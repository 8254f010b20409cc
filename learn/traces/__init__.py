"""Trace analysis: what changed between the trajectories of two agents."""
