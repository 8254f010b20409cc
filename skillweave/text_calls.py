"""Calls that a model wrote as text: in the ReAct form, or in the form in which it was trained to call.

A server with a parser of tool calls turns the latter into calls; without one they arrive as words. Environments that
take text read them here, and so does whoever has to notice that a server lacks its parser. What a thought mentions is
no call.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from pydantic_core import from_json

from skillweave.base.call_arguments import read_arguments
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
    r"^[ \t>#*_]*(Thought|Action Input|Action|Observation|Final Answer|Answer)[ \t]*\d{0,3}[ \t]*[*_]*[ \t]*:[*_]*",
    re.MULTILINE | re.IGNORECASE,
)
"""A mark of the ReAct form; some models number them, or write them small."""
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
    r"<(?:｜DSML｜)?parameter(?:=|\ name=)\"?(?P<key>[\w.-]{1,256})\"?[^<>]{0,100}>"
    r"(?P<value>[^<]*+(?:<(?!/(?:｜DSML｜)?parameter>)[^<]*+)*+)</(?:｜DSML｜)?parameter>"
    r"|<arg_key>(?P<key2>[^<]{1,256})</arg_key>\s*"
    r"<arg_value>(?P<value2>[^<]*+(?:<(?!/arg_value>)[^<]*+)*+)</arg_value>"
)
_FENCE_BEHIND = re.compile(rf"{_SPACE}(?:```(?:json)?)?{_SPACE}")
_CLOSING = re.compile(
    rf"{_SPACE}(?:```|</(?:tool_calls?|function_calls?|function|(?:\w{{1,20}}:|｜DSML｜)?invoke)>|<tool_call\|>"
    r"|<\|(?:call|tool_call_end|eom_id|eot_id|END_ACTION)\|>|<｜tool▁call▁end｜>)"
)
_AROUND_CALLS = re.compile(
    r"<\|tool_calls_section_(?:begin|end)\|>|<｜tool▁calls▁(?:begin|end)｜>|</?(?:\w{1,20}:|｜DSML｜)(?:tool|function)_calls?>"
)
_BETWEEN = re.compile(r"[\s,]*")
_ARGUMENTS_BEGIN = re.compile(r'"(?:arguments|parameters|args)"\s*:\s*(?=\{)')
_UNREADABLE = ("tool_call", "tool_calls", "function_call", "function_calls")
"""Names of calls that cannot be read."""
_NAME_KEYS = ("name", "tool", "tool_name")
_ARGUMENT_KEYS = ("arguments", "parameters", "args")


_OBJECT = re.compile(r"\{(?=\s{0,99}\")")
_DECODER = json.JSONDecoder(strict=False)
_NAMES_TOOL = re.compile("name|tool|function|action|call|api|method", re.IGNORECASE)
_HOLDS_ARGUMENTS = re.compile("arg|param|input|payload", re.IGNORECASE)


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
    if (place := _json_call(text, names)) is not None:
        return text[place:]
    bare = _bare_call(tuple(names)).search(text)
    if bare is not None:
        return text[bare.start() :].lstrip()
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
            return [_made(name, _unless_faulty(value, text[begun:end]))], end
        return [_call_as_written(one, written) for one, written in _elements(text, begun)], end
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


def _elements(text: str, place: int) -> Iterator[tuple[Json, str]]:
    """The values of a JSON list, or the one value that stands there, each with how it was written."""
    decode, is_list = json.JSONDecoder().raw_decode, text[place] == "["
    place += is_list
    while (begun := _BETWEEN.match(text, place)) is not None and (not is_list or not text.startswith("]", begun.end())):
        value, place = decode(text, begun.end())
        yield value, text[begun.end() : place]
        if not is_list:
            return


def _call_as_written(value: Json, written: str) -> ToolCall:
    """A call whose arguments stay text where they cannot be read, such as with a key twice, as native ones do."""
    call = call_of(value)
    if isinstance(call.function.arguments, str) or (whole := read_arguments(written)).fault is None:
        return call
    begun = _ARGUMENTS_BEGIN.search(written)
    if begun is None:
        return _made(call.function.name, written, call.id)
    _, end = json.JSONDecoder().raw_decode(written, begun.end())
    arguments = written[begun.end() : end]
    is_within = read_arguments(arguments).fault is not None or "twice" not in (whole.fault or "")
    return _made(call.function.name, arguments if is_within else written, call.id)


def _unless_faulty(value: Json, written: str) -> Json:
    """Arguments as the object that they are, or as they were written if they cannot be read."""
    return value if isinstance(value, Mapping) and read_arguments(written).fault is None else written


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
    """A tool's name directly before its arguments, at the beginning of a line, behind a mark, or as a recipient.

    `[find(name="x")]`, `find\\n{"name": "x"}`, `<start_function_call>call:find{name:<escape>x`, `>>>find\\n{`, and
    `to=functions.find json{`, which is gpt-oss without its marks.
    """
    name = rf"(?:\w{{1,40}}\.)?(?:{'|'.join(map(re.escape, names))})"
    keywords = r"\((?:[ \t]*\)[ \t`\])]*(?:$|<)|\s*\w+\s*=|[ \t]*\{)"
    braces = r"[ \t`*]{0,9}\s{0,9}(?:```\w{0,20}\s{0,9})?\{\s*(?:[\"}]|\w+\s*:)"
    tags = r"\s{0,9}<\w{0,20}(?:arg|param)"
    return re.compile(
        rf"(?:^|(?<=>))[ \t`*]*\[?[ \t]*(?:\w{{1,40}}[ \t]*=[ \t]*)?(?:await[ \t]+|print\(|call:)?"
        rf"{name}(?:{keywords}|{braces}|{tags})"
        rf"|<(?:[\w:]{{1,30}}(?:\ name)?=[\"']?)?{name}[\"']?\s?>\s{{0,9}}[{{<](?!/)"
        rf"|<\w{{0,20}}name>\s{{0,9}}{name}\s{{0,9}}</"
        rf"|\bto={name}\b[^{{\n]{{0,80}}\{{",
        re.MULTILINE,
    )


def _json_call(text: str, names: Collection[str]) -> int | None:
    """Where a JSON object stands that calls an offered tool, whole or cut off; None if there is none."""
    place = 0
    for _ in range(MAX_MARKS):
        begun = _OBJECT.search(text, place)
        if begun is None:
            return None
        try:
            value, place = _DECODER.raw_decode(text, begun.start())
        except (ValueError, RecursionError):
            place = begun.end()
            try:
                value = from_json(text[begun.start() :], allow_partial="trailing-strings")
            except ValueError:
                continue
        if any(_is_call(found, names) for found in _objects(value)):
            return begun.start()
    return None


def _objects(value: Json) -> Iterator[dict[str, Json]]:
    """The objects in a value, from the outermost on."""
    waiting = [value]
    for one in waiting:
        if isinstance(one, dict):
            yield one
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else []


def _is_call(given: dict[str, Json], names: Collection[str]) -> bool:
    """Whether an object has a tool's name and arguments, in any order and under any of the keys that models write."""
    if len(given) == 1:
        (key, value), *_ = given.items()
        if key in names and isinstance(value, dict):
            return True
    named = {
        key for key, value in given.items() if isinstance(value, str) and (value in names or _last(value) in names)
    }
    has_arguments = any(_HOLDS_ARGUMENTS.search(key) for key in given.keys() - named)
    return has_arguments and any(_NAMES_TOOL.search(key) for key in named)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


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
    for written, part in zip(rest[::2], rest[1::2], strict=True):
        mark = written.title()
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
