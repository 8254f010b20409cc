"""A server that checks each request as the strictest endpoints do, before its script answers.

What it refuses, at least one of OpenAI, Anthropic, Gemini, Mistral, Groq, or a chat template of theirs refuses.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .scripted import Act, Heard, Script, fault

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
MAX_DEPTH = 100
"""Protobuf's, in which Gemini keeps arguments."""


class Refused(Exception):
    """Why a request is refused."""


class StrictServer:
    """The script of a server: what it refuses is answered by status 400; `refused` holds why."""

    def __init__(self, *script: Act | Script, added: Sequence[str] = ()) -> None:
        """Args:
        script: What it answers to what it accepts, in order, the last one again and again.
        added: Fields of messages and calls that it knows besides OpenAI's.
        """
        self._script = script
        self._added = {*added}
        self.accepted: list[Heard] = []
        self.refused: list[str] = []

    def __call__(self, heard: Heard) -> Act:
        try:
            json.dumps(heard.body, ensure_ascii=False).encode()
            if "input" in heard.body:
                self._check_items(heard.body["input"])
            elif heard.path.endswith("/messages"):
                self._check_turns(heard.body["messages"])
            else:
                self._check_messages(heard.body["messages"])
        except (Refused, UnicodeEncodeError) as error:
            self.refused.append(str(error))
            return fault(400, str(error), type="invalid_request_error")
        act = self._script[min(len(self.accepted), len(self._script) - 1)]
        self.accepted.append(heard)
        return act if isinstance(act, Act) else act(heard)

    def _check_messages(self, messages: Sequence[Mapping[str, Any]]) -> None:
        said = [message for message in messages if message["role"] != "system"]
        _demand(bool(said) and said[0]["role"] == "user", "the user speaks first")
        waiting: list[str] = []
        seen: set[str] = set()
        before = ""
        for at, message in enumerate(messages):
            role, content, calls = message["role"], message["content"], message.get("tool_calls")
            known = {"role", "content", *self._added}
            known |= {"tool_calls"} if role == "assistant" else {"tool_call_id"} if role == "tool" else set()
            _demand(message.keys() <= known, f"messages.{at}: property {[*message.keys() - known]} is unsupported")
            if role == "tool":
                _demand(bool(waiting) and message["tool_call_id"] == waiting.pop(0), f"messages.{at}: stray result")
                _demand(isinstance(content, str), f"messages.{at}: a result is text")
                before = ""
                continue
            _demand(not waiting, f"messages.{at}: calls {waiting} have no result")
            _demand(role != before, f"messages.{at}: two messages of {role}")
            before = "" if calls else role
            is_empty = content is None and bool(calls)
            _demand(is_empty or (isinstance(content, str) and bool(content.strip())), f"messages.{at}: empty content")
            for call in calls or ():
                _demand(
                    call.keys() <= {"id", "type", "function", *self._added}, f"messages.{at}: unknown field of call"
                )
                function = call["function"]
                _demand(function.keys() <= {"name", "arguments", *self._added}, f"messages.{at}: unknown field")
                _check_call(call["id"], function["name"], read_object(function["arguments"]), seen)
            waiting = [call["id"] for call in calls or ()]
        _demand(not waiting, f"calls {waiting} have no result")

    def _check_turns(self, turns: Sequence[Mapping[str, Any]]) -> None:
        _demand(bool(turns) and turns[0]["role"] == "user", "the user speaks first")
        waiting: set[str] = set()
        seen: set[str] = set()
        for at, turn in enumerate(turns):
            _demand(not at or turn["role"] != turns[at - 1]["role"], f"messages.{at}: two turns of {turn['role']}")
            _demand(bool(turn["content"]), f"messages.{at}: empty content")
            results = {block["tool_use_id"] for block in turn["content"] if block["type"] == "tool_result"}
            _demand(results == waiting, f"messages.{at}: `tool_use` ids without `tool_result`, or the reverse")
            waiting = set()
            for block in turn["content"]:
                if block["type"] == "text":
                    _demand(bool(block["text"].strip()), f"messages.{at}: text content blocks must be non-empty")
                elif block["type"] == "tool_use":
                    _demand(isinstance(block["input"], dict), f"messages.{at}: input is no dictionary")
                    _check_call(block["id"], block["name"], block["input"], seen)
                    waiting.add(block["id"])
        _demand(not waiting, f"calls {waiting} have no result")

    def _check_items(self, items: Sequence[Mapping[str, Any]]) -> None:
        seen: set[str] = set()
        waiting: list[str] = []
        for item in items:
            if item.get("type") == "function_call":
                _check_call(item["call_id"], item["name"], read_object(item["arguments"]), seen)
                waiting.append(item["call_id"])
            elif item.get("type") == "function_call_output":
                _demand(item["call_id"] in waiting, "No tool call found for function call output")
                waiting.remove(item["call_id"])
            elif "role" in item:
                _demand(not waiting, "No tool output found for function call")
        _demand(not waiting, "No tool output found for function call")


def read_object(arguments: object) -> dict[str, Any]:
    """The arguments of a call as a strict parser reads them. Raises Refused."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _demand(len(dict(pairs)) == len(pairs), "arguments: duplicate field")
        return dict(pairs)

    def never(name: str) -> Any:
        raise Refused(f"arguments: {name} is no JSON")

    _demand(isinstance(arguments, str), "arguments: no string")
    try:
        value = json.loads(
            str(arguments), object_pairs_hook=once, parse_constant=never, parse_int=_finite, parse_float=_finite
        )
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Refused(f"arguments: no JSON: {error}") from None
    _demand(isinstance(value, dict), "arguments: no object")
    return dict(value)


def _finite(digits: str) -> float:
    value = float(digits)
    _demand(value - value == 0, "arguments: number out of range")
    return value


def _check_call(id: str, name: str, values: dict[str, Any], seen: set[str]) -> None:
    _demand(bool(ID.fullmatch(id)) and id not in seen, f"id of a call: {id!r}")
    seen.add(id)
    _demand(bool(NAME.fullmatch(name)), f"function.name: {name!r} does not match the pattern")
    _demand(_depth(values) < MAX_DEPTH, "arguments: too deep")


def _depth(value: Any) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if parts is None else 1 + max(map(_depth, parts), default=0)


def _demand(holds: bool, why: str) -> None:
    if not holds:
        raise Refused(why)
