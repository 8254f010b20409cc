"""What runs: contracts, sessions on them, and how two states of a world differ.

One interpreter executes contracts, so gates, rollouts and scores share one meaning.
"""
