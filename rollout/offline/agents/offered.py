"""The tools of a request as any model sees them: names, descriptions and JSON schemas."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from skillweave.schema.record import Json

Form = Literal["date", "datetime"]
READING = frozenset(["get", "list", "find", "search", "show", "check", "look", "view", "fetch", "read", "browse"])
SIGNING_IN = frozenset(["identify", "verify", "authenticate", "login", "sign"])


class Argument(NamedTuple):
    name: str
    type: str
    """Of JSON schema; `null` apart."""
    form: Form | None
    enum: tuple[str, ...]
    required: bool
    description: str

    @property
    def is_id(self) -> bool:
        """Whether it names a row by its key."""
        return self.name.endswith("_id")

    @property
    def is_money(self) -> bool:
        """Whether it counts cents."""
        return self.name.endswith("_cents")


class Offered(NamedTuple):
    """A tool on offer."""

    name: str
    description: str
    arguments: tuple[Argument, ...]

    @property
    def plain(self) -> str:
        """Its name as it reads where the tools of several companies are told apart by what stands before `__`."""
        return plain(self.name)

    @property
    def verb(self) -> str:
        """The first word of its name."""
        return self.plain.split("_")[0]

    @property
    def reads(self) -> bool:
        """Whether it only looks things up, by its name."""
        return self.verb in READING

    @property
    def signs_in(self) -> bool:
        """Whether it identifies the user, by its name."""
        return self.verb in SIGNING_IN


def plain(tool: str) -> str:
    """A tool's name without what seems to be a namespace: `pay_bill` of `clinic__pay_bill`."""
    return tool.rpartition("__")[2] or tool


def offered(tools: Sequence[Mapping[str, Json]]) -> list[Offered]:
    """The tools of a request."""
    found = []
    for tool in tools:
        function = tool.get("function")
        if isinstance(function, dict):
            found.append(
                Offered(
                    str(function.get("name")),
                    str(function.get("description") or ""),
                    _arguments(function.get("parameters")),
                )
            )
    return found


def _arguments(schema: Json) -> tuple[Argument, ...]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    required = schema.get("required") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return ()
    known = required if isinstance(required, list) else []
    return tuple(_argument(name, given, name in known) for name, given in properties.items() if isinstance(given, dict))


def _argument(name: str, given: Mapping[str, Json], required: bool) -> Argument:
    kinds = given.get("type")
    named = [str(kind) for kind in kinds if kind != "null"] if isinstance(kinds, list) else [str(kinds)]
    values = given.get("enum")
    description = str(given.get("description") or "")
    form: Form | None = None
    if "YYYY-MM-DD" in description:
        form = "datetime" if "HH:MM" in description else "date"
    return Argument(
        name=name,
        type=named[0] if named else "string",
        form=form,
        enum=tuple(str(value) for value in values if value is not None) if isinstance(values, list) else (),
        required=required,
        description=description,
    )
