"""The tool to speak with, under the name by which servers know it."""

from interop.words import SPEAK, SPEAK_TOOL, ServedTool, call_as_action, served_tools

__all__ = ["SPEAK", "SPEAK_TOOL", "ServedTool", "call_as_action", "served_tools"]
