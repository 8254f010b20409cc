"""The name by which verifiers finds the tasks: `vf-eval skillweave-tasks`. All of it is in `interop`."""

from interop.frameworks.verifiers_v1 import SkillweaveConversationEnv, SkillweaveTaskset

__all__ = ["SkillweaveConversationEnv", "SkillweaveTaskset"]
