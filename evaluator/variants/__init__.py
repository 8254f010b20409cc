"""Variants of golden conversations, with the verdict that an evaluator must give: mutants fail, equivalents pass.

They are made by executing calls. No check is asked.
"""
