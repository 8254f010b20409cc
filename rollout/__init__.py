"""Agents and simulated users in worlds. Nothing of it is here yet; README.md says what is to meet here."""
