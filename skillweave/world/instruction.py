"""The instruction of a task: the system prompt with clock, caller and policy, in full or compact."""

import re
from collections.abc import Sequence
from datetime import date

from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.contract import Policy
from skillweave.schema.task import Task
from skillweave.world.tools import ToolDefinition, name_of

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
COMPACT = """\
{introduction}

## Rules of the tools

Tools that are marked with * need the user's clear yes before you call them.

{tools}

{rules}
"""
_RULE = re.compile(r"\[((?:R|B)\d+)\] (.+?)(?=\s*(?:\[(?:R|B)\d+\]|\*\*|\n|\Z))")


def instruction(
    task: Task, policy: Policy, blueprint: Blueprint, tools: Sequence[ToolDefinition], *, compact: bool = False
) -> str:
    """The system prompt of a task. It leaves out the policy's sections of tools that are not offered.

    Args:
        task: The task, with clock and caller.
        policy: The world's policy.
        blueprint: The world's contract, with the names of its companies.
        tools: The tools that the session offers.
        compact: Give each rule once, and of a tool the numbers of its rules alone.
    """
    members = blueprint.members if isinstance(blueprint, FusedBlueprint) else []
    listed = ", ".join(f"`{member.namespace}__` for {member.title}" for member in members)
    offered = policy.for_tools([name_of(tool) for tool in tools])
    env = task.env_variables
    return PROMPT.format(
        company=blueprint.title,
        now=task.now,
        weekday=f"{date.fromisoformat(env.CURRENT_DATE):%A}",
        date=env.CURRENT_DATE,
        caller=UNKNOWN
        if env.LOGGED_IN_USER is None
        else KNOWN.format(user=env.LOGGED_IN_USER, name=env.LOGGED_IN_NAME),
        companies=SEVERAL.format(listed=listed) if listed else "",
        policy=_compact(offered, blueprint) if compact else offered.text,
    )


def _compact(policy: Policy, blueprint: Blueprint) -> str:
    """The introduction, a line for each tool, and each rule once."""
    confirmed = {tool.name for tool in blueprint.tools if tool.confirm}
    numbers: list[str] = []
    rules: dict[str, str] = {}
    for tool, text in policy.sections:
        of_tool = dict(_RULE.findall(text))
        rules |= of_tool
        numbers.append(f"- `{tool}`{'*' * (tool in confirmed)}: {', '.join(of_tool) or 'none'}")
    texts = [f"[{number}] {text}" for number, text in rules.items()]
    return COMPACT.format(introduction=policy.introduction, tools="\n".join(numbers), rules="\n".join(texts))
