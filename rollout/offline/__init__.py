"""Scripted agents, and the user that understands them. Neither needs a model, and neither can talk with one."""
