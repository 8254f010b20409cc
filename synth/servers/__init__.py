"""MCP servers: ask the author to write them, check them, and prove them equal to their contracts."""
