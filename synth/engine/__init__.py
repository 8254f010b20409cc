"""The engine: decides what is to be redone, and runs items. Steps see only their context."""
