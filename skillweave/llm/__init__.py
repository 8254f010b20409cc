"""Models as authors: questions, how they are asked and answered, and what that costs.

`backends` sends requests, `limits` says when; the modules here ask questions, read answers, keep replies and accounts.
"""
