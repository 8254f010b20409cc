"""The agent's system prompt in a world: who it is, what it is told about the session, and the policy."""

from collections.abc import Sequence
from datetime import date

from rollout.task import Definition
from skillweave.schema.policy import Policy
from skillweave.schema.task import Task
from skillweave.world.tools import name_of

PROMPT = """\
You are the assistant of {company}. You talk with one user, and act for them through your tools.

- Now: {now} (UTC). Today is {weekday}, {date}.
- {caller}

Each reply of yours is either words to the user or calls of tools. Words and calls together are possible; the user reads
the words. Say in words what you have done. The policy below says what you may do; follow it.

{policy}"""
KNOWN = "The user is signed in: LOGGED_IN_USER is {user}, LOGGED_IN_NAME is {name}."
UNKNOWN = "The user is not signed in: LOGGED_IN_USER is null."


def instruction(task: Task, policy: Policy, company: str, tools: Sequence[Definition]) -> str:
    """The system prompt of a task. Sections of tools that are not offered are left out of the policy."""
    env = task.env_variables
    return PROMPT.format(
        company=company,
        now=task.now,
        weekday=f"{date.fromisoformat(env.CURRENT_DATE):%A}",
        date=env.CURRENT_DATE,
        caller=UNKNOWN
        if env.LOGGED_IN_USER is None
        else KNOWN.format(user=env.LOGGED_IN_USER, name=env.LOGGED_IN_NAME),
        policy=policy.for_tools([name_of(tool) for tool in tools]).text,
    )
