"""Databases with a past: reference rows drawn by a generator, the rest made by simulated persons who use the tools."""
