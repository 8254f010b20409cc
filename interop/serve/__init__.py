"""Servers: the tasks of a dataset as environments that trainers and agents connect to. A protocol is a file."""
