"""The steps, one module each: `sNN_name.py`. A module of that name is a step; nothing else registers it."""
