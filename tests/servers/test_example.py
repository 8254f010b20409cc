"""Examples: short ones where there are any, and some success of every tool."""

from skillweave.schema.contract import Call, Returns, Tool
from synth.servers.cases import Observed, ServerCase
from synth.servers.suite import LARGEST, examples_of

LIST = Tool(name="list_it", kind="read", description="", returns=Returns(rows="many", select="SELECT 1 AS one"))


def listed(length: int) -> tuple[ServerCase, Observed]:
    case = ServerCase("", (Call(tool="list_it"),), "A-0001")
    return case, Observed(({"ok": True, "value": ["x" * length]},), [])


def lengths(*given: int) -> list[int]:
    cases, seen = zip(*map(listed, given), strict=True)
    return [len(example.value[0]) for example in examples_of([LIST], cases, seen)]  # type: ignore[index,arg-type]


def test_a_tool_whose_results_are_all_long_has_an_example_all_the_same() -> None:
    assert lengths(LARGEST + 50, LARGEST + 20) == [LARGEST + 20]
    assert lengths(LARGEST + 50, 20) == [20]
