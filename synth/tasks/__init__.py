"""From templates to tasks: instances of goals in a world's data, and their words."""
