"""The tool graph: which tools feed, enable or follow which."""
