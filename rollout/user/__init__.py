"""The simulated user: whom it plays, in which order it tells, and the check of what it says."""
