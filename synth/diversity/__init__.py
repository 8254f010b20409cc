"""Diversity: how much tasks differ, what repeats, what splits or benchmarks have in common. Nothing runs a world."""
