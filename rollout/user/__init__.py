"""The simulated user."""
