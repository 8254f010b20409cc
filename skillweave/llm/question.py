"""A question: a prompt file, its variables, and the type of its answer.

A prompt is the Jinja file `<name>.md` of a package: the system message, a line `---`, the user message. A variable
that is not given is an error. A JSON answer is an object, since endpoints that decode by a schema demand one; a
list stands `under` a name in it. The prompt shows the schema in a notation like TypeScript's.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template, TemplateError, meta
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model

from skillweave.base.errors import ConfigError
from skillweave.llm.backends.json_schema import without_nulls
from skillweave.llm.json_text import compact_json
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message

T = TypeVar("T")
Role = Literal["textual", "coding", "judge"]
AnswerForm = Literal["json", "code", "text"]

DIVIDER = "---"
"""The line between the system and the user message of a prompt file."""
DEFINITIONS = "#/$defs/"
PLAIN_TYPES = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean", "null": "null"}
AS_JSON = (
    "Answer with one JSON object and nothing else, in this form and without other fields (`?`: may be left out, or "
    "null; `= x`: then it is x; `[1..9]`: so many elements):\n\n```\n{form}\n```"
)
AS_CODE = "Answer with one complete Python source file in a single ```python block, and nothing else."
AS_TEXT = "Answer with the text itself, in Markdown, and nothing else: no preface, no closing remark."


@dataclass(frozen=True)
class Question(Generic[T]):
    """What is asked, and how the answer is read."""

    name: str
    """The name of the prompt file, without `.md`."""
    returns: type[T]
    """The type of the answer."""
    role: Role = "textual"
    """Which of the configured authors is asked."""
    package: str = "synth.questions"
    """The package that holds the prompt file."""
    form: AnswerForm = "json"
    most: int | None = None
    """Most elements of an answer that is a list; None leaves it to the type."""
    under: str | None = None
    """The field that holds an answer which is no object itself; None if it is one."""

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """The validator of whole answers, with the field around an answer that is no object."""
        if self.under is None:
            return TypeAdapter(self.returns)
        bounded: Any = self.returns if self.most is None else Annotated[self.returns, Field(max_length=self.most)]
        fields: dict[str, Any] = {self.under: (bounded, ...)}
        return TypeAdapter(create_model("Answer", __config__=ConfigDict(extra="forbid"), **fields))

    @cached_property
    def element(self) -> TypeAdapter[Any]:
        """The validator of one element of an answer that is a list."""
        return TypeAdapter(get_args(self.returns)[0])

    @cached_property
    def schema(self) -> dict[str, Json] | None:
        """JSON schema of the answer; None if the answer is not JSON."""
        return self.adapter.json_schema() if self.form == "json" else None

    def formed(self, value: Json) -> Json:
        """Bring a decoded reply into the form asked for: a bare list goes under its name, and nulls for nothing go."""
        if self.under is not None and not (isinstance(value, dict) and self.under in value):
            value = {self.under: value}
        return without_nulls(value, self.schema or {})

    def read(self, formed: Json) -> T:
        """Validate an answer that `formed` gave. Raises pydantic's ValidationError."""
        validated: Any = self.adapter.validate_python(formed)
        answer: T = validated if self.under is None else getattr(validated, self.under)
        return answer

    @cached_property
    def prompt(self) -> tuple[str, str]:
        """The texts of the system and the user message, before rendering."""
        lines = _source(self.package, f"{self.name}.md").splitlines()
        if DIVIDER not in lines:
            raise ConfigError(
                f"prompt {self.name!r} of package {self.package!r} has no line {DIVIDER!r}; "
                "write the system message, that line, then the user message"
            )
        middle = lines.index(DIVIDER)
        return "\n".join(lines[:middle]).strip(), "\n".join(lines[middle + 1 :]).strip()

    @cached_property
    def answer_format(self) -> str:
        """What `{{ answer_format }}` in a prompt becomes."""
        if self.form == "json":
            return AS_JSON.format(form=notation(self.schema or {}))
        return AS_CODE if self.form == "code" else AS_TEXT

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the prompt, of the files that it includes, and of the type of the answer."""
        texts = [*self.prompt, *(_source(self.package, name) for name in self._included())]
        content = json.dumps([texts, self.schema, self.form, self.role], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def render(self, variables: Mapping[str, object]) -> tuple[Message, Message]:
        """Render the system and the user message.

        Raises:
            ConfigError: The prompt uses a variable that is not given, or is no valid template.
        """
        try:
            system, user = (
                template.render(answer_format=self.answer_format, **variables).strip() for template in self._templates
            )
        except TemplateError as error:
            raise ConfigError(
                f"prompt {self.name!r} of package {self.package!r} cannot be rendered: {error}; "
                f"variables given: {', '.join(sorted(variables)) or 'none'}"
            ) from error
        return Message(role="system", content=system), Message(role="user", content=user)

    @cached_property
    def _templates(self) -> tuple[Template, Template]:
        system, user = self.prompt
        return self._environment.from_string(system), self._environment.from_string(user)

    @cached_property
    def _environment(self) -> Environment:
        environment = Environment(
            undefined=StrictUndefined,
            loader=FunctionLoader(lambda name: _source(self.package, name)),
            trim_blocks=True,
            lstrip_blocks=True,
            # Prompts are not HTML: escaping would turn quotation marks into `&#39;`.
            autoescape=False,
        )
        environment.filters["json"] = compact_json
        return environment

    def _included(self) -> list[str]:
        """Files that the prompt includes or imports, transitively, sorted."""
        included: set[str] = set()
        texts = list(self.prompt)
        while texts:
            for name in meta.find_referenced_templates(self._environment.parse(texts.pop())):
                if name is not None and name not in included:
                    included.add(name)
                    texts.append(_source(self.package, name))
        return sorted(included)


def question(
    name: str,
    *,
    returns: type[T],
    role: Role = "textual",
    package: str = "synth.questions",
    form: AnswerForm = "json",
    most: int | None = None,
    under: str | None = None,
) -> Question[T]:
    """Declare a question. Its prompt is read when it is first asked.

    Args:
        name: The prompt file's name, without `.md`.
        returns: The type of the answer; `str` for code and text.
        role: Which of the configured authors is asked.
        package: The package that holds the prompt file.
        form: What the reply has to be.
        most: Most elements of an answer that is a list; None leaves it to the type.
        under: The field that holds an answer which is no object itself.

    Raises:
        ConfigError: Form, type and field do not fit each other.
    """
    if form != "json" and returns is not str:
        raise ConfigError(f"question {name!r} of form {form!r} must return str, not {returns!r}")
    if form == "json" and under is None and not _is_object(returns):
        raise ConfigError(
            f"question {name!r} returns {returns!r}, which is no object; name the field that holds it: under=..."
        )
    return Question(name=name, returns=returns, role=role, package=package, form=form, most=most, under=under)


def _is_object(returns: object) -> bool:
    return isinstance(returns, type) and issubclass(returns, BaseModel)


def _source(package: str, name: str) -> str:
    try:
        return resources.files(package).joinpath(name).read_text(encoding="utf-8")
    except (FileNotFoundError, ModuleNotFoundError, NotADirectoryError) as error:
        raise ConfigError(f"prompt file {name!r} is not in package {package!r}; add it there") from error


def notation(schema: Mapping[str, Json]) -> str:
    """Write a JSON schema in a notation like TypeScript's, for a prompt.

    Args:
        schema: Of pydantic: its root, and definitions under `$defs`.

    Returns:
        The root's form, then one line for each definition. Fields that have a description stand on lines of their own.
    """
    definitions = schema.get("$defs")
    named = [f"{name} = {_type(part)}" for name, part in _items(definitions)]
    return "\n".join([_type({key: part for key, part in schema.items() if key != "$defs"}), *named])


def _type(schema: Json) -> str:
    if not isinstance(schema, dict):
        return "any"
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return reference.removeprefix(DEFINITIONS)
    for keyword in ("anyOf", "oneOf", "allOf"):
        if isinstance(choices := schema.get(keyword), list):
            return _choice(choices)
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " | ".join(_json(value) for value in values) if isinstance(values, list) else "any"
    kind = schema.get("type")
    if kind == "array":
        element = _type(schema.get("items"))
        return f"{f'({element})' if ' | ' in element else element}[{_span(schema, 'minItems', 'maxItems')}]"
    if kind == "object":
        return _object(schema)
    span = _span(schema, "minimum", "maximum")
    return PLAIN_TYPES.get(str(kind), "any") + (f" {span}" if span else "")


def _choice(choices: list[Json]) -> str:
    types = list(dict.fromkeys(_type(choice) for choice in choices))
    if "number" in types and "integer" in types:
        types.remove("integer")
    return " | ".join(types)


def _object(schema: Mapping[str, Json]) -> str:
    properties = _items(schema.get("properties"))
    if not properties:
        values = schema.get("additionalProperties")
        return f"{{ [name]: {_type(values)} }}" if isinstance(values, dict) else "{ }"
    required = schema.get("required")
    fields = [_field(name, part, isinstance(required, list) and name in required) for name, part in properties]
    if not any(comment for _, comment in fields):
        return f"{{ {', '.join(field for field, _ in fields)} }}"
    lines = [f"  {field}," + (f" // {comment}" if comment else "") for field, comment in fields]
    return "\n".join(["{", *lines, "}"])


def _field(name: str, schema: Json, is_required: bool) -> tuple[str, str]:
    """A field with its type and default; and its description."""
    keywords = schema if isinstance(schema, dict) else {}
    kind = _type(schema)
    default = keywords.get("default")
    if not is_required:
        kind = kind.removesuffix(" | null")
    value = f" = {_json(default)}" if default and not isinstance(default, dict | list) else ""
    comment = " ".join(str(keywords.get("description", "")).split())
    return f"{name}{'' if is_required else '?'}: {kind}{value}", comment


def _span(schema: Mapping[str, Json], least: str, most: str) -> str:
    """A range such as `1..64`; empty if neither end is bounded."""
    low, high = schema.get(least), schema.get(most)
    return "" if low is None and high is None else f"{'' if low is None else low}..{'' if high is None else high}"


def _items(value: Json) -> list[tuple[str, Json]]:
    return list(value.items()) if isinstance(value, dict) else []


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
