"""The order in which a user tells what they know."""
