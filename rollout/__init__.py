"""Rollouts: agents talk with simulated users in worlds, and each conversation is recorded as a trajectory."""
