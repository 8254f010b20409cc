"""What runs: contracts, sessions on them, and how two states of a world differ.

One interpreter executes contracts, so that gates, rollouts and scores rest on one meaning.
"""
