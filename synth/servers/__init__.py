"""MCP servers: written by an author, checked, and proved equal to their contract."""
