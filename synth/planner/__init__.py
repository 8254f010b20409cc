"""The planner: searches a contract and a state for calls that succeed, or that one chosen guard refuses."""
