"""The agent's system prompt in a world: who it is, what it is told about the session, and the policy."""

from collections.abc import Mapping, Sequence
from datetime import date

from rollout.task import Definition
from skillweave.schema.policy import Policy
from skillweave.schema.task import Task
from skillweave.world.tools import name_of

PROMPT = """\
You are the assistant of {company}. You talk with one user, and act for them through your tools.

- Now: {now} (UTC). Today is {weekday}, {date}.
- {caller}{companies}

Each reply of yours is either words to the user or calls of tools. Words and calls together are possible; the user reads
the words. Say in words what you have done. The policy below says what you may do; follow it.

{policy}"""
KNOWN = "The user is signed in: LOGGED_IN_USER is {user}, LOGGED_IN_NAME is {name}."
UNKNOWN = "The user is not signed in: LOGGED_IN_USER is null."
SEVERAL = """
- You act for several companies: {listed} stand before the names of their tools. Whoever is identified with one of them
  is identified with all. Each company has a key of its own for the person, which its tools fill in."""


def instruction(
    task: Task, policy: Policy, company: str, tools: Sequence[Definition], companies: Mapping[str, str] | None = None
) -> str:
    """The system prompt of a task. Sections of tools that are not offered are left out of the policy.

    `companies` are those of a fused world: the namespace of their tools -> their name.
    """
    env = task.env_variables
    listed = ", ".join(f"`{namespace}__` for {name}" for namespace, name in (companies or {}).items())
    return PROMPT.format(
        company=company,
        now=task.now,
        weekday=f"{date.fromisoformat(env.CURRENT_DATE):%A}",
        date=env.CURRENT_DATE,
        caller=UNKNOWN
        if env.LOGGED_IN_USER is None
        else KNOWN.format(user=env.LOGGED_IN_USER, name=env.LOGGED_IN_NAME),
        companies=SEVERAL.format(listed=listed) if listed else "",
        policy=policy.for_tools([name_of(tool) for tool in tools]).text,
    )
