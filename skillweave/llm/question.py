"""A question: a prompt file, its variables, and the type of its answer.

A prompt is the Jinja file `<name>.md` of a package: the system message, a line `---`, the user message. A variable
that is not given is an error, never an empty string.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar

from pydantic import Field, TypeAdapter

from skillweave.errors import ConfigError
from skillweave.schema.message import Message
from skillweave.schema.record import Json

if TYPE_CHECKING:
    from jinja2 import Environment, Template

T = TypeVar("T")
Role = Literal["textual", "coding", "judge"]
Form = Literal["json", "code", "text"]

DIVIDER = "---"
AS_JSON = "Answer with one JSON value and nothing else. It must match this JSON schema:\n\n```json\n{schema}\n```"
AS_CODE = "Answer with one complete Python source file in a single ```python block, and nothing else."
AS_TEXT = "Answer with the text itself, in Markdown, and nothing else: no preface, no closing remark."


@dataclass(frozen=True)
class Question(Generic[T]):
    name: str
    returns: type[T]
    role: Role = "textual"
    package: str = "synth.questions"
    """The package that holds the prompt file."""
    form: Form = "json"
    most: int | None = None
    """Elements of an answer that is a list, at most; None: as its type says."""
    under: str = ""
    """Of an answer that is a list: the one field of the object that it comes in."""

    @cached_property
    def adapter(self) -> TypeAdapter[T]:
        """The validator of answers."""
        bounded: Any = self.returns if self.most is None else Annotated[self.returns, Field(max_length=self.most)]
        return TypeAdapter(bounded)

    @cached_property
    def schema(self) -> dict[str, Json] | None:
        """JSON schema of the answer; None where the answer is not JSON."""
        if self.form != "json":
            return None
        found: dict[str, Json] = self.adapter.json_schema()
        if not self.under:
            return found
        defs = {"$defs": found.pop("$defs")} if "$defs" in found else {}
        rooted: dict[str, Json] = {"type": "object", "properties": {self.under: found}, "required": [self.under]}
        return {**rooted, "additionalProperties": False, **defs}

    @cached_property
    def prompt(self) -> tuple[str, str]:
        """The templates of the system and the user message."""
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
        """What a prompt says of the form of the answer: `{{ answer_format }}`."""
        if self.form == "json":
            return AS_JSON.format(schema=json.dumps(_shown(self.schema), ensure_ascii=False))
        return AS_CODE if self.form == "code" else AS_TEXT

    @cached_property
    def digest(self) -> str:
        """Changes with the words of the prompt, of what it includes, and with the type of the answer."""
        texts = [*self.prompt, *(_source(self.package, name) for name in self._included())]
        content = json.dumps([texts, self.schema, self.form, self.role], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def render(self, variables: Mapping[str, object]) -> tuple[Message, Message]:
        """The system and the user message. Raises ConfigError where the prompt asks for a variable not given."""
        from jinja2 import TemplateError

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
    def _templates(self) -> "tuple[Template, Template]":
        system, user = self.prompt
        return self._environment.from_string(system), self._environment.from_string(user)

    @cached_property
    def _environment(self) -> "Environment":
        from jinja2 import Environment, FunctionLoader, StrictUndefined

        environment = Environment(
            undefined=StrictUndefined,
            loader=FunctionLoader(lambda name: _source(self.package, name)),
            trim_blocks=True,
            lstrip_blocks=True,
            # Prompts are not HTML; escaping would show authors `&#39;`.
            autoescape=False,
        )
        environment.filters["json"] = _as_json
        return environment

    def _included(self) -> list[str]:
        """Files that the prompt includes or imports, transitively, sorted."""
        from jinja2 import meta

        found: set[str] = set()
        texts = list(self.prompt)
        while texts:
            for name in meta.find_referenced_templates(self._environment.parse(texts.pop())):
                if name is not None and name not in found:
                    found.add(name)
                    texts.append(_source(self.package, name))
        return sorted(found)


def question(
    name: str,
    *,
    returns: type[T],
    role: Role = "textual",
    package: str = "synth.questions",
    form: Form = "json",
    most: int | None = None,
    under: str = "",
) -> Question[T]:
    """Declare a question. Its prompt is read when it is first asked."""
    if form != "json" and returns is not str:
        raise ConfigError(f"question {name!r} of form {form!r} must return str, not {returns!r}")
    return Question(name=name, returns=returns, role=role, package=package, form=form, most=most, under=under)


def _source(package: str, name: str) -> str:
    try:
        return resources.files(package).joinpath(name).read_text(encoding="utf-8")
    except (FileNotFoundError, ModuleNotFoundError, NotADirectoryError) as error:
        raise ConfigError(f"prompt file {name!r} is not in package {package!r}; add it there") from error


def _as_json(value: object) -> str:
    from pydantic_core import to_jsonable_python

    return json.dumps(to_jsonable_python(value, exclude_none=True), indent=1, ensure_ascii=False)


def _shown(schema: Json) -> Json:
    """The schema in fewer words: without the titles that Pydantic derives from names, and with plain choices merged."""
    if isinstance(schema, list):
        return [_shown(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    told = {key: _shown(part) for key, part in schema.items() if not _is_noise(key, part)}
    choices = told.get("anyOf")
    if isinstance(choices, list):
        merged = _merged(choices)
        if merged is not None:
            del told["anyOf"]
            return {**merged, **told}
    return told


def _is_noise(key: str, part: Json) -> bool:
    return (key == "title" and isinstance(part, str)) or (key == "default" and part is None)


def _merged(choices: list[Json]) -> dict[str, Json] | None:
    """A choice between plain types as one schema with several; None where it is between more than that."""
    merged: dict[str, Json] = {}
    types: list[Json] = []
    for choice in choices:
        if not isinstance(choice, dict) or not isinstance(choice.get("type"), str) or {"enum", "const"} & choice.keys():
            return None
        # Every other keyword speaks of values of one type alone, so that it leaves the others as they are.
        types.append(choice["type"])
        merged |= choice
    return {**merged, "type": types} if len(set(map(str, types))) == len(types) else None
