"""The simulated user's prompt: who they are, what they want and know, and how they behave. Prose, for any model."""

from collections.abc import Sequence

from skillweave.schema.task import Fact, Persona, Scenario
from synth.tasks.persona import STYLES

PROMPT = """You are {name}, {age} years old, and you are writing to the assistant of {company}. {manner} {traits}

{goal}
Why: {reason}

What you know and may say:
{facts}

How you behave:
- Say at once what is marked "at once"; say the rest only when you are asked for it. Never say more than this list
  holds: no ids, numbers, dates or names that are not in it and that the assistant has not said before.
- If you are asked for something you do not know, say so; where you have no preference, say that.
- If the assistant asks you to confirm what you want, confirm it. If it is about to do something else than you want, say
  no and repeat what you want.
- After you have confirmed, wait for the assistant to report. Do not ask for anything new; do not change your mind.
- When everything you asked for has been done and reported, or declined with a reason, thank the assistant and write
  ###STOP### in the same message. If {patience} of its messages in a row bring you no further, say that you give up and
  write ###STOP###.
"""


def user_prompt(company: str, persona: Persona, scenario: Scenario) -> str:
    """How to play this user."""
    traits = f"{persona.name.partition(' ')[0]} {' and '.join(persona.traits)}." if persona.traits else ""
    return PROMPT.format(
        name=persona.name,
        age=persona.age,
        company=company,
        manner=STYLES.get(persona.style, ""),
        traits=traits,
        goal=scenario.goal,
        reason=scenario.reason,
        facts=_listed(scenario.facts),
        patience=persona.patience,
    )


def _listed(facts: Sequence[Fact]) -> str:
    when = {"first": "at once", "asked": "when asked"}
    lines = [f"- ({when[fact.tell]}) {fact.text}" for fact in facts if fact.tell != "never"]
    return "\n".join(lines) or "- nothing beside your wish itself."
