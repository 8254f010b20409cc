"""The prompts of the optimizer: what it is asked at each stage of a step."""
