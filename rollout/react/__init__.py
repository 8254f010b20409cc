"""Models without native tool calls, and questions without a world."""
