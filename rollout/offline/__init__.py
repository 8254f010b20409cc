"""Scripted agents, and the user that understands them. Neither needs a model, and neither is made for one."""
