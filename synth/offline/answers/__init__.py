"""Answers: one module for each group of questions, each a function of the question's variables and the variant."""
