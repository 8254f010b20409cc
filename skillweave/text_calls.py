"""Calls that a model wrote as text: in the ReAct form, or in the form in which it was trained to call.

A server with a parser of tool calls turns the latter into calls; without one they arrive as words. Environments that
take text read them here, and so does whoever has to notice that a server lacks its parser. What a thought mentions is
no call.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, ToolCall
from skillweave.thoughts import split_thoughts
from skillweave.world.tools import valid_text

CALLS_AS_TEXT = "calls_as_text"
"""The key of a trajectory's metadata under which such replies are counted; it is left out where there are none."""
NO_PARSER = (
    "replies hold a call as text, which nobody made: the server has no parser of tool calls; start it with "
    "--enable-auto-tool-choice --tool-call-parser NAME, or use the agent that writes calls as text "
    "(rollout.parts.agent: react)"
)
"""What to tell of them, behind how many of how many."""
MAX_CALLS = 64
"""Calls of one text that are read."""
MAX_MARKS = 2 * MAX_CALLS
"""Marks of calls that are looked at; it bounds the work that a hostile text makes."""
MAX_NAME = 256
"""Characters of a tool's name."""
_REACT_MARK = re.compile(
    r"^[ \t>#*_]*(Thought|Action Input|Action|Observation|Final Answer|Answer)[ \t]*[*_]*[ \t]*:[*_]*", re.MULTILINE
)
_FENCED = re.compile(r"```[\w-]*\n(.*?)\n?```\s*", re.DOTALL)
_FENCE = re.compile(r"```[\w-]*\s*")
_INLINE = re.compile(r"([\w.-]+)\s*\(?\s*(\{.*)", re.DOTALL)
_NO_ACTION = ("", "none", "n/a", "no action")
_AROUND = " \t`*_'\"[]()."
_NAME = r"[\w.-]{1,256}?"
_SPACE = r"\s{0,20}"
_CALL = re.compile(
    rf"""
    <(?P<tag>tool_calls?|function_calls?)>                              # Hermes, Qwen, GLM and many others
  | <\|tool_call\|?>                                                    # Granite, Phi, Gemma
  | \[TOOL_CALLS\]                                                      # Mistral
  | <\|python_tag\|>                                                    # Llama 3
  | <\|START_ACTION\|>                                                  # Command
  | <\|tool_call_begin\|>                                               # Kimi K2
  | <｜tool▁call▁begin｜>                                               # DeepSeek
  | <function=(?P<function>{_NAME})>                                    # Llama 3, Qwen 3 Coder
  | <(?:\w{{1,20}}:|｜DSML｜)?invoke\ name="(?P<invoke>{_NAME})"\s?>    # MiniMax, DeepSeek 3.2
  | <\|channel\|>commentary\ to=(?:functions\.)?(?P<channel>{_NAME})\b[^<]{{0,50}}
    (?:<\|constrain\|>\w{{1,20}}{_SPACE})?<\|message\|>                 # gpt-oss
  | \bfunctions\.(?P<numbered>{_NAME}):\d{{1,4}}(?={_SPACE}\{{)          # Kimi K2, without its marks
    """,
    re.VERBOSE,
)
"""What begins a call. Its name stands in the mark, behind it, or in the JSON behind it."""
_NAME_BEHIND = re.compile(
    rf"(?:call:|function<｜tool▁sep｜>)?(?:functions\.)?(?P<name>{_NAME})(?::\d{{1,4}})?{_SPACE}"
    r"(?:<\|tool_call_argument_begin\|>|<｜tool▁sep｜>|(?:\[CALL_ID\]\w{1,20})?\[ARGS\]|(?=\{|<arg_key>|```))"
)
_PARAMETER = re.compile(
    r"<(?:｜DSML｜)?parameter(?:=|\ name=)\"?(?P<key>[\w.-]{1,256})\"?[^<>]{0,100}>(?P<value>[^<]*+(?:<(?!/)[^<]*+)*+)"
    r"</(?:｜DSML｜)?parameter>|<arg_key>(?P<key2>[^<]{1,256})</arg_key>\s*<arg_value>(?P<value2>[^<]*+(?:<(?!/)[^<]*+)*+)"
    r"</arg_value>"
)
_FENCE_BEHIND = re.compile(rf"{_SPACE}(?:```(?:json)?)?{_SPACE}")
_CLOSING = re.compile(
    rf"{_SPACE}(?:```|</(?:tool_calls?|function_calls?|function|(?:\w{{1,20}}:|｜DSML｜)?invoke)>|<tool_call\|>"
    r"|<\|(?:call|tool_call_end|eom_id|eot_id|END_ACTION)\|>|<｜tool▁call▁end｜>)"
)
_AROUND_CALLS = re.compile(
    r"<\|tool_calls_section_(?:begin|end)\|>|<｜tool▁calls▁(?:begin|end)｜>|</?(?:\w{1,20}:|｜DSML｜)(?:tool|function)_calls?>"
)
_UNREADABLE = ("tool_call", "tool_calls", "function_call", "function_calls")
"""Names of calls that cannot be read."""
_NAME_KEYS = ("name", "tool", "tool_name")
_ARGUMENT_KEYS = ("arguments", "parameters", "args")


class TextWithCalls(NamedTuple):
    """A text, and the calls that stood in it."""

    words: str
    """The text without its calls."""
    calls: tuple[ToolCall, ...]
    """Without ids. One that cannot be read has the name and the arguments of no tool."""


class _Found(NamedTuple):
    calls: list[ToolCall]
    start: int
    end: int


def read_calls(text: str, tools: Sequence[Mapping[str, Json]] = ()) -> TextWithCalls:
    """Read calls that carry the marks of a form in which models are trained.

    Args:
        text: What a model wrote, without its thoughts.
        tools: OpenAI definitions; they say of which type arguments are that were written without quotation marks.
    """
    calls: list[ToolCall] = []
    words: list[str] = []
    place = 0
    for found in _marked(text, tools):
        words.append(text[place : found.start])
        calls += found.calls
        place = found.end
        if len(calls) >= MAX_CALLS:
            return TextWithCalls(_AROUND_CALLS.sub("", "".join(words)).strip(), tuple(calls[:MAX_CALLS]))
    if not calls:
        return TextWithCalls(text, ())
    return TextWithCalls(_AROUND_CALLS.sub("", "".join([*words, text[place:]])).strip(), tuple(calls))


def find_call(text: str, names: Sequence[str]) -> str | None:
    """The first call of an offered tool that stands in a text, as it was written; None if there is none.

    Words that only mention a tool are no call: its name has to stand where a form of calls has it.

    Args:
        text: What a model said, without its thoughts.
        names: The offered tools.
    """
    if not any(name in text for name in names):
        return None
    for found in _marked(text, ()):
        written = text[found.start : found.end]
        called = [call.function.name for call in found.calls]
        if any(name in names or name.rpartition(".")[2] in names for name in called):
            return written
        # Cut off, or torn: the name is still there.
        if any(name in _UNREADABLE for name in called) and any(name in written for name in names):
            return written
    bare = _bare_call(tuple(names)).search(text)
    if bare is not None:
        return text[bare.start() :]
    return text if read_text(text).tool in names else None


def call_of(given: object) -> ToolCall:
    """A call in OpenAI's form, or flat: `{"name": ..., "arguments": ...}`. Raises ValueError, with one line."""
    if isinstance(given, Mapping):
        inner = given.get("function")
        flat: Mapping[str, Json] = inner if isinstance(inner, Mapping) else given
        name = next((flat[key] for key in _NAME_KEYS if key in flat), None)
        arguments = next((flat[key] for key in _ARGUMENT_KEYS if key in flat), {})
        id = given.get("id")
        if isinstance(name, str) and 0 < len(name) <= MAX_NAME:
            try:
                return _made(name, arguments, id if isinstance(id, str) else "")
            except (ValueError, TypeError, RecursionError) as error:
                raise ValueError(f"the arguments of {name!r} are no JSON, or nested too deeply") from error
    raise ValueError('a call is an object {"name": TOOL, "arguments": {...}}')


def _made(name: str, arguments: Json, id: str = "") -> ToolCall:
    if isinstance(arguments, Mapping):
        return ToolCall(id=id, function=FunctionCall(name=valid_text(name), arguments=dict(arguments)))
    text = valid_text(arguments) if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(id=id, function=FunctionCall(name=valid_text(name), arguments=text))


def _marked(text: str, tools: Sequence[Mapping[str, Json]]) -> Iterator[_Found]:
    """Each marked call of a text, and each mark that holds no call of its own because another one follows."""
    place = 0
    for _ in range(MAX_MARKS):
        mark = _CALL.search(text, place)
        if mark is None:
            return
        calls, end = _behind(text, mark, tools)
        while (closing := _CLOSING.match(text, end)) is not None:
            end = closing.end()
        yield _Found(calls, mark.start(), end)
        place = end


def _behind(text: str, mark: re.Match[str], tools: Sequence[Mapping[str, Json]]) -> tuple[list[ToolCall], int]:
    """The calls behind a mark, and where they end."""
    name = next((mark[group] for group in ("function", "invoke", "channel", "numbered") if mark[group]), None)
    begun = _after_fence(text, mark.end())
    if name is None and (named := _NAME_BEHIND.match(text, begun)) is not None:
        name, begun = named["name"], _after_fence(text, named.end())
    try:
        if name is not None and text.startswith("<", begun):
            arguments, end = _parameters(text, begun, name, tools)
            return [_made(name, arguments)], end
        value, end = json.JSONDecoder().raw_decode(text, begun)
        if name is not None:
            return [_made(name, value)], end
        return [call_of(one) for one in (value if isinstance(value, list) else [value])], end
    except (ValueError, TypeError, RecursionError):
        pass
    following = _CALL.search(text, mark.end())
    if following is not None and not text[mark.end() : following.start()].strip():
        return [], mark.end()
    end = following.start() if following is not None else len(text)
    closing = _CLOSING.search(text, mark.end(), end)
    end = closing.start() if closing is not None else end
    if name is not None and not text[begun:end].strip():
        return [_made(name, {})], end
    return [_made(name or mark["tag"] or "tool_call", text[begun:end].strip() or "?")], end


def _after_fence(text: str, place: int) -> int:
    fence = _FENCE_BEHIND.match(text, place)
    return fence.end() if fence is not None else place


def _parameters(text: str, place: int, name: str, tools: Sequence[Mapping[str, Json]]) -> tuple[dict[str, Json], int]:
    """Arguments that stand in tags, and where they end."""
    types = _types(name, tools)
    found: dict[str, Json] = {}
    while (parameter := _PARAMETER.match(text, _after_fence(text, place))) is not None:
        key = parameter["key"] or parameter["key2"]
        value = (parameter["value"] or parameter["value2"] or "").strip()
        found[key] = _typed(value, types.get(key, ()))
        place = parameter.end()
    if not found and not _CLOSING.match(text, place):
        raise ValueError("neither a parameter nor an end")
    return found, place


def _typed(value: str, types: Sequence[str]) -> Json:
    """A value that was written without quotation marks: text where the tool takes text, else JSON if it is any."""
    if "string" in types:
        return None if value == "null" and "null" in types else value
    try:
        read: Json = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return read


def _types(name: str, tools: Sequence[Mapping[str, Json]]) -> dict[str, tuple[str, ...]]:
    """The types of a tool's parameters, by their names."""
    for tool in tools:
        function = tool.get("function")
        if isinstance(function, Mapping) and function.get("name") == name:
            schema = function.get("parameters")
            properties = schema.get("properties") if isinstance(schema, Mapping) else None
            found = properties if isinstance(properties, Mapping) else {}
            kinds = {key: of.get("type") if isinstance(of, Mapping) else None for key, of in found.items()}
            return {
                key: tuple(map(str, kind)) if isinstance(kind, list) else (str(kind),) for key, kind in kinds.items()
            }
    return {}


@lru_cache(maxsize=64)
def _bare_call(names: tuple[str, ...]) -> re.Pattern[str]:
    """A call without marks: a JSON object with name and arguments, or a line such as `[find(name="x")]`."""
    any_name = rf"(?:\w{{1,40}}\.)?(?:{'|'.join(map(re.escape, names))})"
    name_key, argument_key = "|".join(_NAME_KEYS), "|".join((*_ARGUMENT_KEYS, "input"))
    return re.compile(
        rf"""\{{[^{{}}]{{0,200}}"(?:{name_key}|function)"\s*:\s*"{any_name}"\s*,[^{{}}]{{0,100}}"(?:{argument_key})"\s*:"""
        rf"""|^[ \t`]*\[?[ \t]*(?:print\()?{any_name}\((?:[ \t]*\)[ \t`\])]*$|\s*\w+\s*=|[ \t]*\{{)""",
        re.MULTILINE,
    )


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
    """Read a reply in the ReAct form. A reply without any mark is an answer."""
    thought, rest = split_thoughts(text)
    thoughts = [thought]
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
    before, *rest = _REACT_MARK.split(text)
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
    return fenced[1] if fenced and _REACT_MARK.search(fenced[1]) else text
