"""What words of a question ask for: the fact that was left out, or something beside it."""
