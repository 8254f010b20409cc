"""Replay of golden and recorded calls."""
