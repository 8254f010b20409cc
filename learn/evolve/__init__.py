"""Agents that evolve: they explore, what is rewarded is kept, and a model is trained on it anew."""
