"""Contracts: a rule book's sentences, and the SQL that says the same, joined into the tools of a blueprint."""
