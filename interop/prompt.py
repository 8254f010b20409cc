"""How an environment speaks in text: what a policy reads at the start, and after each of its steps.

Servers, text environments and exported trajectories say the same words, so that what is trained on is what is met.
"""

from collections.abc import Sequence

from rollout.react.agent import FORMAT, UNREADABLE, described, rendered
from rollout.task import Definition
from skillweave.schema.trajectory import Message

INSTRUCTION = (
    "You act in an environment of tools and a user. Each observation is a result of a tool or the user's words."
)
"""What comes before the first observation, where a protocol has a place for it."""
OK = "Ok."
"""The scripted reply to the instruction."""


def with_tools(system: str, tools: Sequence[Definition]) -> str:
    """The system prompt for a policy that writes its calls as text: how to write them, and the tools."""
    return f"{system}\n\n{FORMAT.format(tools=described(tools))}"


def chat_prompt(prompt: Sequence[Message], tools: Sequence[Definition]) -> list[dict[str, str]]:
    """The start of an episode as a chat without native tools: the system prompt has the tools, and how to call them."""
    texts = [(message.role, message.content or "") for message in prompt]
    return [{"role": role, "content": with_tools(text, tools) if role == "system" else text} for role, text in texts]


def first_observation(prompt: Sequence[Message], tools: Sequence[Definition]) -> str:
    """What the environment says first: the system prompt, the tools, and the user's first message."""
    system = "\n\n".join(message.content or "" for message in prompt if message.role == "system")
    user = "\n\n".join(message.content or "" for message in prompt if message.role == "user")
    return f"{with_tools(system, tools)}\n\n{user}"


def observation(messages: Sequence[Message], *, is_open: bool = False) -> str:
    """What the environment says after a step: `Observation: ` and a result, or the user's words.

    Args:
        messages: What the step brought.
        is_open: Whether the conversation goes on. A step without words and calls, such as a thought that was cut off,
            is then answered as in our own rollouts.
    """
    text = "\n\n".join(message.content or "" for message in rendered((message, "") for message in messages))
    return f"Observation: {UNREADABLE}" if is_open and not text else text
