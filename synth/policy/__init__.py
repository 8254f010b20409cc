"""Policies: the manual that an agent reads, its check, and the comparison of its rules with their SQL."""
