"""Values and facts in texts."""
