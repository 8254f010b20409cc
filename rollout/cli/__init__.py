"""The command line: `python -m rollout run`."""
