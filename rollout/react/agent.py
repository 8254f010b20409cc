"""ReactAgent: an agent for models without native tool calls. It writes calls as text in the ReAct form."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rollout.agent import WRITTEN, Agent, AgentSettings, AgentStep
from rollout.task import Definition
from skillweave.llm.backends.backend import Backend, Reply, Request
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall
from skillweave.text_calls import read_text

FORMAT = """\
# Tools

You cannot call tools directly; you write down what is to be called, and are told what came of it.

{tools}

# How you write

Each of your replies has one of two forms. To call a tool:

Thought: what you think, for yourself
Action: the name of one tool
Action Input: its arguments, as one JSON object

You are then given its result as `Observation:`; never write that yourself. To speak to the user:

Thought: what you think, for yourself
Answer: what you say to them"""
NO_TOOLS = "There are none."
ONLY_THOUGHT = "Your last reply was all thought, and held neither an Action nor an Answer. Write one of the two forms."
UNREADABLE = "Your last reply held neither an Action nor an Answer. Write one of the two forms."


def described(tools: Sequence[Definition]) -> str:
    """The tools as text for a model, with one line for each tool and each parameter."""
    return "\n".join(_tool(tool["function"]) for tool in tools if isinstance(tool.get("function"), dict)) or NO_TOOLS


def _tool(function: Json) -> str:
    assert isinstance(function, dict)
    schema = function.get("parameters")
    parameters = schema if isinstance(schema, dict) else {}
    properties, required = parameters.get("properties"), parameters.get("required")
    shown = properties if isinstance(properties, dict) else {}
    needed = required if isinstance(required, list) else []
    head = f"- {function.get('name')}" + _after(": ", function.get("description"))
    return "\n".join([head, *(f"    {_parameter(name, of, name in needed)}" for name, of in shown.items())])


def _parameter(name: str, schema: Json, is_needed: bool) -> str:
    of: Mapping[str, Json] = schema if isinstance(schema, dict) else {}
    rest = {key: value for key, value in of.items() if key not in ("type", "description", "title")}
    kind = of.get("type")
    words = "|".join(map(str, kind)) if isinstance(kind, list) else str(kind or "any")
    optional = "" if is_needed else ", optional"
    return f"{name} ({words}{optional})" + _after(": ", of.get("description")) + (f" {_json(rest)}" if rest else "")


def _after(separator: str, text: Json) -> str:
    return f"{separator}{' '.join(str(text).split())}" if text else ""


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def rendered(messages: Iterable[tuple[Message, str]]) -> list[Message]:
    """Write a conversation with calls and results as text. Consecutive messages of one side become one message.

    A message of the agent that has its text as it was written stands so.

    Args:
        messages: The messages, each with the agent's thought or an empty text.
    """
    texts: list[Message] = []
    for message, thought in messages:
        role = "user" if message.role == "tool" else message.role
        text = _written(message, thought)
        if texts and texts[-1].role == role:
            texts[-1] = Message(role=role, content=f"{texts[-1].content}\n\n{text}")
        else:
            texts.append(Message.model_validate({"role": role, "content": text}))
    return texts


def _written(message: Message, thought: str) -> str:
    content = message.content or ""
    if message.role == "tool":
        return f"Observation: {content}"
    if message.role != "assistant":
        return content
    written = (message.model_extra or {}).get(WRITTEN)
    if isinstance(written, str):
        return written
    lines = [f"Thought: {thought}"] if thought else []
    if content:
        lines.append(f"Answer: {content}")
    for call in message.tool_calls or ():
        arguments = call.function.arguments
        shown = arguments if isinstance(arguments, str) else _json(arguments)
        lines += [f"Action: {call.function.name}", f"Action Input: {shown}"]
    return "\n".join(lines)


class ReactAgent(Agent):
    """An agent that writes Thought, Action, Action Input and Answer.

    The model always sees the earlier thoughts that it wrote in this form; others, such as those between tags, only
    where `replay_reasoning` asks for it.
    """

    calls_as_text = None

    def __init__(
        self,
        backend: Backend,
        instruction: Sequence[Message],
        tools: Sequence[Definition],
        *,
        key: str,
        settings: AgentSettings,
    ) -> None:
        super().__init__(backend, instruction, tools, key=key, settings=settings)
        self._format = Message(role="system", content=FORMAT.format(tools=described(tools)))
        self._thoughts: dict[int, str] = {}
        self._complaint: list[Message] = []
        """What its model is told of a last reply that was neither form."""

    def _request(self) -> Request:
        request = super()._request()
        history = [(message, self._thoughts.get(number, "")) for number, message in enumerate(request.messages)]
        systems = sum(message.role == "system" for message, _ in history[:1])
        history.insert(systems, (self._format, ""))
        messages = rendered([*history, *((message, "") for message in self._complaint)])
        return replace(request, messages=tuple(messages), tools=(), tool_choice="auto")

    def _sent(self, message: Message) -> Message:
        return message if self.settings.replay_reasoning else super()._sent(message)

    def _read(self, reply: Reply) -> AgentStep:
        read = read_text(reply.text)
        calls = (
            ()
            if read.tool is None
            else (ToolCall(id="", function=FunctionCall(name=read.tool, arguments=read.arguments)),)
        )
        reasoning = "\n\n".join(filter(None, [reply.reasoning, read.thought])) or None
        self._thoughts[len(self.history)] = read.thought
        self._complaint = [] if calls or read.words.strip() else _complaint(reply)
        return super()._read(replace(reply, text=read.words, tool_calls=calls, reasoning=reasoning))


def _complaint(reply: Reply) -> list[Message]:
    """Messages for a model that wrote neither form. The reply itself is not part of the record."""
    if not reply.text.strip():
        return [Message(role="user", content=f"Observation: {ONLY_THOUGHT}")] if reply.reasoning else []
    unreadable = Message.model_validate({"role": "assistant", WRITTEN: reply.text})
    return [unreadable, Message(role="user", content=f"Observation: {UNREADABLE}")]
