"""Fusing worlds: which domains are joined, by what links; the joined world, and the proof of it."""
