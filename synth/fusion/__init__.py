"""Fusing worlds: choose the domains and their links, join them into one world, and prove the result."""
