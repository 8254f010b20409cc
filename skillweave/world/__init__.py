"""Execution of contracts: worlds, their sessions, and differences between two states.

One interpreter executes contracts, so gates, rollouts and scores agree on their meaning.
"""
