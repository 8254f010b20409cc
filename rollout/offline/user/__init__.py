"""A user that needs no model: it answers from its role and the words of the conversation."""

from rollout.offline.user.user import offline_user

__all__ = ["offline_user"]
