"""What the tasks of a world exercise."""
