"""The simulated user's prompt: who they are, what they want and know, and how they behave. It is prose, for any model.

Tasks are written with it, and rollouts render it again if they change a user's manner. It does not say in which form to
answer: the code that asks a model adds that.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from random import Random

from skillweave.schema.task import Fact, Moment, Persona, Scenario

STYLES = {
    "brief": "You write short messages, often without a greeting, and get to the point at once.",
    "chatty": "You like to talk: you greet, mention what is going on in your life, and thank people.",
    "formal": "You write in complete, polite sentences and keep a certain distance.",
    "worried": "You are a little anxious that something might go wrong, and say so.",
    "hurried": "You are between two things and want this settled quickly.",
    "friendly": "You are warm and patient, and easy to talk to.",
    "precise": "You are careful with details and like things to be exact.",
    "hesitant": "You are not used to doing this in writing and grope for words now and then.",
}
"""Style -> instruction to the user."""
TRAITS = (
    "answers one question at a time",
    "mentions small details nobody asked for",
    "double-checks what was done before ending",
    "prefers plain words to technical ones",
    "repeats the request once if ignored",
    "apologises for taking up time",
    "dislikes long explanations",
    "writes in lower case",
)
CLASHES = {
    "brief": {"mentions small details nobody asked for", "apologises for taking up time"},
    "chatty": {"dislikes long explanations"},
    "formal": {"writes in lower case"},
    "friendly": {"dislikes long explanations"},
    "hurried": {
        "answers one question at a time",
        "mentions small details nobody asked for",
        "double-checks what was done before ending",
    },
    "precise": {"writes in lower case"},
    "mentions small details nobody asked for": {"answers one question at a time", "dislikes long explanations"},
}
"""Style or trait -> traits that nobody has together with it."""
PROMPT = """\
You are {name}, {age} years old, and you are writing to the assistant of {company}. Today is {today}. {manner} {traits}

{goal}
{reason}
What you know and may say:
{facts}

How you behave:
{order}- Say at once what is marked "at once"; say the rest only when you are asked for it. Never say more than this
  list holds: no ids, numbers, dates or names that are not in it and that the assistant has not said before. Write
  figures, dates and names as they stand in the list. Small talk without any of these is fine.
- If you are asked for something you do not know, say so; where you have no preference, say that.
- If the assistant proposes what you want, or asks whether it may go ahead with it, agree. If it is about to do
  something else than you want, say no and repeat what you want.
- If it answers what you want to know with a list, say which one you mean, and wait for its answer to that.
- After you have agreed, wait for the assistant to report.{steady}
{course}- If the assistant cannot help you, you may ask for a human.
- You are done when everything you asked for has been done and reported, or declined with a reason: then thank the
  assistant, say no to whatever else it offers, and take your leave, all in one message. Never leave before that while
  it waits for an answer of yours. If {patience} of its messages in a row bring you no further, say that you give up,
  and leave.
"""
STEADY = " Do not ask for anything new; do not change your mind."
"""What a user is told who has no later wish."""
LATER = """\
- You come out with something else {moment}.
  Say it in your own words, with all its figures, dates and names: "{says}"
  Say nothing of it before, nor what is marked "with your later wish". From then on it counts, and you say no to what
  goes against it. You are not done before it has been said, and done and reported, or declined, like the rest. Ask for
  nothing beyond it, and do not change your mind again.
"""
"""What a user is told who has one."""
MOMENTS: Mapping[Moment, str] = {
    "second_message": "in your next message after your request, whatever the assistant has said;\n"
    "  if that was a question, answer it as well",
    "after_report": "as soon as the assistant has reported or answered what you asked for first,\n"
    "  or has declined it: you say it then, and do not take your leave",
}
"""When a later wish is said, in words."""
ARGUMENTS = """\
- If the assistant declines what you want, do not accept that at once. After each refusal say the next of these, in your
  own words:
{listed}
  Claim nothing beyond them, and do not threaten to leave. When you have said them all, accept the next refusal.
"""


def user_prompt(company: str, persona: Persona, scenario: Scenario, now: str, order: str = "") -> str:
    """Render the prompt for one user.

    Args:
        company: The company that the user writes to.
        persona: Who the user is.
        scenario: What they want and know.
        now: The session's clock, `YYYY-MM-DD HH:MM:SS`.
        order: How they begin, if not with their request.
    """
    traits = f"{persona.name.partition(' ')[0]} {' and '.join(persona.traits)}." if persona.traits else ""
    return PROMPT.format(
        name=persona.name,
        age=persona.age,
        company=company,
        today=day_in_words(now),
        manner=STYLES.get(persona.style, ""),
        traits=traits,
        goal=scenario.goal,
        reason=f"Why: {scenario.reason}\n" if scenario.reason else "",
        facts=_listed(scenario.facts),
        order=f"- {order}\n" if order else "",
        steady="" if scenario.later else STEADY,
        course=_course(scenario),
        patience=persona.patience,
    )


def _course(scenario: Scenario) -> str:
    """How the user comes out with a later wish, and insists."""
    later = scenario.later
    listed = "\n".join(f'  {number}. "{text}"' for number, text in enumerate(scenario.insists, start=1))
    return (LATER.format(moment=MOMENTS[later.when], says=later.says) if later else "") + (
        ARGUMENTS.format(listed=listed) if listed else ""
    )


def draw_style(random: Random) -> tuple[str, int]:
    """Draw a style and a patience that fits it, in messages of the agent."""
    style = random.choice(sorted(STYLES))
    return style, {"hurried": 4, "brief": 5, "worried": 6}.get(style, 8) + random.randint(0, 2)


def draw_traits(style: str, random: Random) -> list[str]:
    """Draw one or two habits that a person of that style can have, sorted."""
    traits: list[str] = []
    for _ in range(random.randint(1, 2)):
        fitting = [trait for trait in TRAITS if not any(clash(trait, other) for other in [style, *traits])]
        traits.append(random.choice(fitting))
    return sorted(traits)


def clash(first: str, second: str) -> bool:
    """Whether two styles or traits are the same, or do not fit one person."""
    return first == second or first in CLASHES.get(second, ()) or second in CLASHES.get(first, ())


def day_in_words(now: str) -> str:
    """The day of a clock `YYYY-MM-DD HH:MM:SS` in words: `Monday 17 March 2025`."""
    day = date.fromisoformat(now[:10])
    return f"{day:%A} {day.day} {day:%B %Y}"


def _listed(facts: Sequence[Fact]) -> str:
    when = {"first": "at once", "asked": "when asked", "later": "with your later wish"}
    lines = [f"- ({when[fact.tell]}) {fact.text}" for fact in facts if fact.tell != "never"]
    return "\n".join(dict.fromkeys(lines)) or "- nothing beside your wish itself."
