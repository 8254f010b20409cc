"""Skill training: a Markdown document is the state, edits by a model are the steps, a gate keeps what helps."""
