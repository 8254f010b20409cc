"""Kinds of task beside `do` and `inform`: templates derived from the goals of a world, its rules and its tools."""
