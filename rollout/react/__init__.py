"""An agent for models without native tool calls, and tasks without a world."""
