"""What may come next in a reply, so that every call is one of an offered tool, with arguments in JSON.

A reply is words, then calls. A call is a tool's name, then arguments: a key of its schema and the value's tokens. A
call ends only when it has all arguments that its schema requires. Values of an `enum` are held to it, numbers are
numbers.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from learn.small_model.reading import CALL, END, SPELL, SPELLED, unspelled
from learn.small_model.tokens import ConversationToken, argument, value_tokens, written
from learn.small_model.vocabulary import Vocabulary

NUMBERS = frozenset({"integer", "number"})
MOST_CALLS = 6
"""Calls of one reply."""
LONGEST_TEXT, LONGEST_VALUE = 200, 24
"""Tokens: a model that goes round in circles still ends its reply."""
Property = Mapping[str, Any]


class OfferedTool(NamedTuple):
    """A tool that may be called."""

    properties: Mapping[str, Property]
    required: frozenset[str]


class WrittenCall(NamedTuple):
    name: str
    arguments: str
    """A JSON object."""


class WrittenReply(NamedTuple):
    content: str | None
    calls: list[WrittenCall]


def offered(tools: Iterable[Mapping[str, Any]], vocabulary: Vocabulary) -> dict[str, OfferedTool]:
    """The tools that the model can call: those whose names, and whose required arguments, it has learned."""
    known: dict[str, OfferedTool] = {}
    for tool in tools:
        function = tool["function"]
        parameters = function.get("parameters") or {}
        properties = parameters.get("properties") or {}
        required = frozenset(parameters.get("required") or ())
        names = [f"tool:{function['name']}", *(f"key:{key}" for key in required)]
        if all(vocabulary.number(name) is not None for name in names):
            known[function["name"]] = OfferedTool(properties, required)
    return known


def types(schema: Property) -> list[str]:
    """The types that a schema allows; none: any."""
    named = schema.get("type")
    if named is None:
        options = [option for option in schema.get("anyOf") or () if isinstance(option, dict)]
        return [name for option in options for name in types(option)]
    return [named] if isinstance(named, str) else [str(name) for name in named]


class Grammar:
    """The state of one reply that is being written."""

    def __init__(
        self, tools: Mapping[str, OfferedTool], vocabulary: Vocabulary, slots: Mapping[int, ConversationToken]
    ) -> None:
        self.tokens: list[ConversationToken] = []
        self.key = ""
        """The argument whose value is being written."""
        self._tools = tools
        self._vocabulary = vocabulary
        self._slots = slots
        self._copied = {token: number for number, token in slots.items()}
        self._tool: str | None = None
        self._called: list[str] = []
        self._used: set[str] = set()
        self._value: list[ConversationToken] = []
        self._spelling = False
        self._words = self._numbers_of("word", "date", "time", "money", "number", "id")
        self._figures = self._numbers_of("money", "number")
        self._spells = [self._number(token) for token in SPELL.values()]

    @property
    def is_done(self) -> bool:
        return bool(self.tokens) and self.tokens[-1] == END

    def allowed(self) -> list[int]:
        """The numbers of the tokens that may come next."""
        if self._spelling:
            return [*self._characters(), self._number(SPELLED)]
        if self.tokens and self.tokens[-1] == CALL:
            return [self._number(ConversationToken("tool", name)) for name in self._callable()]
        if self._tool is None:
            calls = [self._number(CALL)] if self._tools else []
            ends = [*calls, *([self._number(END)] if self.tokens else [])]
            return [*self._words, *self._spells, *ends] if len(self.tokens) < LONGEST_TEXT else ends
        return self._in_call(self._tools[self._tool])

    def add(self, token: ConversationToken) -> None:
        """Take the next token."""
        self.tokens.append(token)
        if token in SPELL.values():
            self._spelling = True
        elif token == SPELLED:
            self._spelling = False
        if token.kind == "tool":
            self._tool, self._used, self.key, self._value = token.text, set(), "", []
            self._called.append(token.text)
        elif token.kind == "key":
            self._used.add(token.text)
            self.key, self._value = token.text, []
        elif token in (CALL, END):
            self.key, self._value = "", []
        elif self.key:
            self._value.append(token)

    def reply(self) -> WrittenReply:
        """The reply as far as it is written; a call that was cut off is left out."""
        text, *calls = _divided([token for token in self.tokens if token != END], CALL)
        content = written(unspelled(text)).strip() or None
        whole = calls if self.is_done else calls[:-1]
        return WrittenReply(content, [self._call(call) for call in whole if call])

    def _call(self, tokens: Sequence[ConversationToken]) -> WrittenCall:
        name, arguments, key = tokens[0].text, dict[str, list[ConversationToken]](), ""
        for token in tokens[1:]:
            if token.kind == "key":
                key = token.text
                arguments[key] = []
            else:
                arguments[key].append(token)
        schemas = self._tools[name].properties
        values = {key: argument(unspelled(value), types(schemas[key])) for key, value in arguments.items()}
        return WrittenCall(name, json.dumps(values, ensure_ascii=False))

    def _callable(self) -> list[str]:
        """The tools of the next call: one without arguments is called once in a reply."""
        if len(self._called) >= MOST_CALLS:
            return []
        return [name for name, tool in self._tools.items() if tool.properties or name not in self._called]

    def _in_call(self, tool: OfferedTool) -> list[int]:
        """After a tool's name or in an argument."""
        following, is_whole = self._in_value(tool.properties[self.key]) if self.key else ([], True)
        if not is_whole:
            return following
        keys = [self._vocabulary.number(f"key:{key}") for key in tool.properties if key not in self._used]
        is_ready = tool.required <= self._used
        further = [self._number(CALL)] if is_ready and self._callable() else []
        ends = [*further, self._number(END)] if is_ready else []
        following = following if len(self._value) < LONGEST_VALUE else []
        return [*following, *(number for number in keys if number is not None), *ends]

    def _in_value(self, schema: Property) -> tuple[list[int], bool]:
        """What may come next in a value, and whether the value may end here."""
        named, is_begun = types(schema), bool(self._value)
        options = [value_tokens(option, self.key) for option in schema.get("enum") or ()]
        if options:
            numbers = [self._find(option[len(self._value)]) for option in options if self._begins(option)]
            known = [number for number in numbers if number is not None]
            return known or ([] if is_begun else self._words), self._value in options or (is_begun and not known)
        if "boolean" in named:
            return [] if is_begun else [
                self._number(ConversationToken("word", text)) for text in ("true", "false")
            ], is_begun
        if NUMBERS & {*named} and "string" not in named:
            return [] if is_begun else [*self._figures, *map(self._number, (SPELL["money"], SPELL["number"]))], is_begun
        return [*self._words, *self._spells], is_begun

    def _begins(self, option: Sequence[ConversationToken]) -> bool:
        begun = len(self._value)
        return len(option) > begun and list(option[:begun]) == self._value

    def _find(self, token: ConversationToken) -> int | None:
        """The number of a token, be it in a slot."""
        return self._copied.get(token, self._vocabulary.number(token.name))

    def _characters(self) -> list[int]:
        digits = [self._number(ConversationToken("number", str(digit))) for digit in range(10)]
        return [*digits, *(self._number(ConversationToken("word", sign)) for sign in "-:.+@")]

    def _numbers_of(self, *kinds: str) -> list[int]:
        own = [number for number, name in enumerate(self._vocabulary.names) if name.split(":", 1)[0] in kinds]
        return [*own, *(number for number, token in self._slots.items() if token.kind in kinds)]

    def _number(self, token: ConversationToken) -> int:
        number = self._vocabulary.number(token.name)
        return self._vocabulary.unknown if number is None else number


def _divided(tokens: Sequence[ConversationToken], sign: ConversationToken) -> list[list[ConversationToken]]:
    parts: list[list[ConversationToken]] = [[]]
    for token in tokens:
        if token == sign:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
