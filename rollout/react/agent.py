"""ReactAgent: an agent for models without native tool calls. It reads tool calls from text in the ReAct form."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from rollout.agent import Agent, AgentSettings, AgentStep
from rollout.task import Definition
from skillweave.llm.backends.backend import Backend, Reply, Request
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall

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
UNREADABLE = "Your last reply held neither an Action nor an Answer. Write one of the two forms."

_MARK = re.compile(
    r"^[ \t>#*_]*(Thought|Action Input|Action|Observation|Final Answer|Answer)[ \t]*[*_]*[ \t]*:[*_]*", re.MULTILINE
)
_THINKING = re.compile(r"\s*(?:<think>)?(.*?)</think>", re.DOTALL)
_FENCED = re.compile(r"```[\w-]*\n(.*?)\n?```\s*", re.DOTALL)
_FENCE = re.compile(r"```[\w-]*\s*")
_INLINE = re.compile(r"([\w.-]+)\s*\(?\s*(\{.*)", re.DOTALL)
_NO_ACTION = ("", "none", "n/a", "no action")
_AROUND = " \t`*_'\"[]()."


class ReactText(NamedTuple):
    """The parts of a reply."""

    thought: str
    tool: str | None
    """The tool to call; None for no call."""
    arguments: str
    """The arguments as written; JSON if the model kept to the form."""
    words: str
    """The words to the user."""


class _TextPart(NamedTuple):
    mark: str
    """The mark before the text; empty for the text before the first mark."""
    text: str


def read_text(text: str) -> ReactText:
    """Read a reply. A reply without any mark is an answer."""
    thinking = _THINKING.match(text)
    thoughts = [thinking[1].strip()] if thinking else []
    rest = text[thinking.end() :] if thinking else text
    parts = _parts(_unfenced(rest))
    if not any(part.mark for part in parts):
        return ReactText("\n".join(filter(None, thoughts)), None, "", "".join(part.text for part in parts))
    tool, arguments, words = _action(parts)
    for part in parts:
        if part.mark in ("Action", "Action Input", "Answer"):
            break
        thoughts.append(part.text)
    return ReactText("\n".join(filter(None, thoughts)), tool, arguments, words)


def _parts(text: str) -> list[_TextPart]:
    """Split a reply at its marks, up to the first Observation."""
    before, *rest = _MARK.split(text)
    parts = [_TextPart("", before.strip())]
    for mark, part in zip(rest[::2], rest[1::2], strict=True):
        if mark == "Observation":
            break
        parts.append(_TextPart(mark.removeprefix("Final "), part.strip()))
    return parts


def _action(parts: Sequence[_TextPart]) -> tuple[str | None, str, str]:
    """Tool, arguments and words: the first Action that names a tool, and an Answer before it.

    After an Answer, an Action counts only with its input, because an answer may contain any kind of line.
    """
    words = ""
    for number, (mark, text) in enumerate(parts):
        following = parts[number + 1] if number + 1 < len(parts) else _TextPart("", "")
        has_input = following.mark == "Action Input"
        if mark == "Answer" and not words:
            words = text
        elif mark == "Action" and text.strip(_AROUND).lower() not in _NO_ACTION and (has_input or not words):
            tool, inline = _named(text)
            return tool, _arguments(following.text) if has_input else inline, words
    return None, "", words


def _named(text: str) -> tuple[str, str]:
    """The tool's name, and arguments on the same line, as in `name({...})`."""
    inline = _INLINE.match(text.strip("`*_ "))
    if inline:
        return inline[1], _arguments(inline[2])
    return text.splitlines()[0].strip(_AROUND), ""


def _arguments(text: str) -> str:
    """The JSON at the beginning, without fences and later text; the whole text if it is not JSON."""
    opened = _FENCE.match(text)
    bare = text[opened.end() :] if opened else text
    bare = bare.strip().removesuffix("```").strip() if opened or bare.endswith("```") else bare.strip()
    bare = bare[1:-1].strip() if len(bare) > 1 and bare[0] == bare[-1] == "`" else bare
    try:
        _, end = json.JSONDecoder().raw_decode(bare)
    except (ValueError, RecursionError):
        return bare
    return bare[:end]


def _unfenced(text: str) -> str:
    """The text without a code fence around all of it."""
    fenced = _FENCED.fullmatch(text.strip())
    return fenced[1] if fenced and _MARK.search(fenced[1]) else text


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
    lines = [f"Thought: {thought}"] if thought else []
    if content:
        lines.append(f"Answer: {content}")
    for call in message.tool_calls or ():
        arguments = call.function.arguments
        shown = arguments if isinstance(arguments, str) else _json(arguments)
        lines += [f"Action: {call.function.name}", f"Action Input: {shown}"]
    return "\n".join(lines)


class ReactAgent(Agent):
    """An agent that writes Thought, Action, Action Input and Answer. The model always sees its own earlier thoughts."""

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
        self._unreadable = ""

    def _request(self) -> Request:
        history = [(message, self._thoughts.get(number, "")) for number, message in enumerate(self.history)]
        systems = sum(message.role == "system" for message, _ in history[:1])
        history.insert(systems, (self._format, ""))
        messages = (*rendered(history), *_complaint(self._unreadable))
        return replace(super()._request(), messages=messages, tools=(), tool_choice="auto")

    def _read(self, reply: Reply) -> AgentStep:
        read = read_text(reply.text)
        calls = (
            ()
            if read.tool is None
            else (ToolCall(id="", function=FunctionCall(name=read.tool, arguments=read.arguments)),)
        )
        reasoning = "\n\n".join(filter(None, [reply.reasoning, read.thought])) or None
        self._thoughts[len(self.history)] = read.thought
        self._unreadable = "" if calls or read.words.strip() else reply.text
        return super()._read(replace(reply, text=read.words, tool_calls=calls, reasoning=reasoning))


def _complaint(unreadable: str) -> list[Message]:
    """Messages for a model that wrote neither form. The unreadable reply itself is not part of the record."""
    if not unreadable.strip():
        return []
    return [Message(role="assistant", content=unreadable), Message(role="user", content=f"Observation: {UNREADABLE}")]
