"""The command line: `python -m rollout run` and `python -m rollout ladder`."""
