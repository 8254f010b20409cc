"""What runs on the far side: standard library only, started by path, with relative imports and nothing of ours."""
