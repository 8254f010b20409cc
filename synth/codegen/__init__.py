"""Generated MCP servers: what they stand on, how they are checked, and how they are proved equal to their contract."""
