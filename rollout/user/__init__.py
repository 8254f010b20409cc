"""The simulated user: whom it plays, the record that each answer is, and the check of what it says."""
