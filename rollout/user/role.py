"""Role: whom a simulated user plays, made from what the user may know: golden calls and criteria never enter it."""

from dataclasses import dataclass
from random import Random

from skillweave.schema.task import Persona, Scenario, Task
from skillweave.user_prompt import draw_style, draw_traits, user_prompt

TELLINGS = ("written", "greeting")
"""How a user begins: with the task's first message, or with a plain greeting and that message when it is asked for."""
GREETINGS = (
    "Hello!",
    "Hi there.",
    "Good morning.",
    "Hello, is somebody there?",
    "Good day. I could use some help.",
    "Hi, can you help me with something?",
)
ORDER = (
    "You open with a greeting and say nothing of what you want. Once you are asked how you can be helped, you say all "
    "that you want."
)


@dataclass(frozen=True)
class Role:
    persona: Persona
    scenario: Scenario
    opening: str
    """The first message."""
    request: str
    """What the user asks for, in their words: the first message where that is no greeting."""
    prompt: str
    """How to play this user, in prose, for a model."""
    company: str
    """Whom the user writes to."""
    now: str
    """The clock, `YYYY-MM-DD HH:MM:SS`."""
    telling: str = "written"
    """One of TELLINGS."""


def role_of(task: Task, company: str, trial: int, random: Random) -> Role:
    """The role of a task's user in a trial; 0 is the user as the task has it."""
    request = task.messages[0].content or "" if task.messages else ""
    if trial == 0:
        return Role(task.persona, task.scenario, request, request, task.user_system_prompt, company, task.now)
    style, patience = draw_style(random)
    persona = task.persona.model_copy(
        update={"style": style, "patience": patience, "traits": draw_traits(style, random)}
    )
    telling = TELLINGS[trial % len(TELLINGS)]
    greets = telling == "greeting"
    return Role(
        persona=persona,
        scenario=task.scenario,
        opening=random.choice(GREETINGS) if greets else request,
        request=request,
        prompt=user_prompt(company, persona, task.scenario, task.now, ORDER if greets else ""),
        company=company,
        now=task.now,
        telling=telling,
    )
