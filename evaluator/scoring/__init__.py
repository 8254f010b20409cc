"""Evaluation of trajectories: the score, the evaluator, worker processes and the self-test."""
