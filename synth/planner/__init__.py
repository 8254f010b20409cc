"""The planner: from a contract and a state to calls that succeed, or that one chosen guard refuses."""
