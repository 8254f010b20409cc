"""Agents and simulated users hold conversations in worlds, which are written down as trajectories."""
