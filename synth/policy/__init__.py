"""Policies: the manual that an agent reads, its check, and its rules set against their SQL."""
