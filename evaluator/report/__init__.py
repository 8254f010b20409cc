"""Reports of evaluations, for people: one page to be read offline, and single trajectories in full."""

from evaluator.report.conversation import ShownConversation, conversation_of
from evaluator.report.page import write_report

__all__ = ["ShownConversation", "conversation_of", "write_report"]
