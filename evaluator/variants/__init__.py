"""Variants of golden conversations, with the verdict that an evaluator must give: mutants fail, equivalents pass.

Executed calls decide the verdict. No check takes part in it.
"""
