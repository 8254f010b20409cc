"""Gates: what a task must show, by execution, before it is kept. Each gate is a file, with its figure."""
