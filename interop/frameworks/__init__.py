"""Environments in process: a module for each framework, which alone imports it."""
