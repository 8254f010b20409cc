"""Examples: calls with what the contract gives, from which an author writes a server's tests."""

from collections.abc import Sequence

from skillweave.schema.call import ToolError
from skillweave.schema.change import RowChange
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json, Record
from synth.codegen.case import Case, Observed

LARGEST = 4000
"""Characters of a result beyond which a case is no example, unless a tool has no other success."""


class Example(Record):
    tool: str
    caller: str | None
    arguments: dict[str, Json]
    patch: list[RowChange]
    """Row changes made before the call."""
    value: Json = None
    """The result, where the call succeeds."""
    error: ToolError | None = None

    @property
    def told(self) -> str:
        """The call and what it gives, on one line, in Python."""
        given = [repr(self.tool), repr(self.arguments), f"caller={self.caller!r}"]
        if self.patch:
            rows = [
                change.model_dump(include={"table", "op", "key", "after"}, exclude_none=True) for change in self.patch
            ]
            given.append(f"patch={rows!r}")
        if self.error is not None:
            return f"call({', '.join(given)}) is refused: {self.error.code!r}, rule {self.error.rule!r}"
        return f"call({', '.join(given)}) == { ({'ok': True, 'value': self.value})!r}"


def examples_of(tools: Sequence[Tool], cases: Sequence[Case], observed: Sequence[Observed]) -> list[Example]:
    """One success of each tool and one refusal of each kind: with some result, few changed rows, and short."""
    best: dict[tuple[str, str], tuple[tuple[bool, bool, int, int], Example]] = {}
    for case, seen in zip(cases, observed, strict=True):
        if len(case.calls) != 1 or not isinstance(answer := seen.answers[0], dict):
            continue
        example = _example(case, answer)
        kind = f"{example.error.code} {example.error.rule}" if example.error else ""
        length = len(str(answer))
        size = length > LARGEST, example.value == [], len(case.patch), length
        known = best.get((example.tool, kind))
        if (length <= LARGEST or not kind) and (known is None or size < known[0]):
            best[example.tool, kind] = size, example
    order = {tool.name: place for place, tool in enumerate(tools)}
    found = [(key, example) for key, (_, example) in best.items() if key[0] in order and _worth(example)]
    return [example for _, example in sorted(found, key=lambda entry: (order[entry[0][0]], entry[0][1]))]


def _example(case: Case, answer: dict[str, Json]) -> Example:
    call = case.calls[0]
    error = answer.get("error")
    return Example(
        tool=call.tool,
        caller=case.caller,
        arguments={name: value for name, value in call.arguments.items() if value is not None},
        patch=list(case.patch),
        value=answer.get("value"),
        error=ToolError.model_validate(error) if error is not None else None,
    )


def _row(change: RowChange) -> dict[str, Json]:
    """A row change as sessions of a server take it."""
    given: dict[str, Json] = {"table": change.table, "op": change.op, "key": change.key}
    return given if change.after is None else {**given, "after": change.after}


def _worth(example: Example) -> bool:
    """Whether an author should test it: successes, and refusals by a rule."""
    return example.error is None or example.error.rule is not None
