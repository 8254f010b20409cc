"""Call matching: which executed call stands for which golden call, by arguments or by effect, each counted once.

Ids that a session mints differ between the two sides. They are paired as calls are, and golden values are read
through the pairs. The id of a golden call without a partner equals nothing.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from evaluator.replay.execution import ExecutedCall
from evaluator.replay.trial import ReplayedTrial
from skillweave.schema.contract import ANY, DECLINE, SESSION_TOOLS, TRANSFER, Cells, RowChange, Tool
from skillweave.schema.criteria import Criteria
from skillweave.schema.record import Json
from skillweave.world.arguments import ArgumentError, bind_argument
from skillweave.world.canonical import canonical
from skillweave.world.compare import compare, normalise
from skillweave.world.tools import tool_of


class MintedIds:
    """Ids minted by golden calls, and the agent's ids for the same rows."""

    def __init__(self, minted: Sequence[str]) -> None:
        choices = "|".join(re.escape(found) for found in sorted(minted, key=lambda found: (-len(found), found)))
        self._pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{choices})(?![A-Za-z0-9])") if choices else None
        self._there: dict[str, str] = {}

    def pair(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Pair golden ids with the agent's ids. A pair that is known stays."""
        for one, other in pairs:
            self._there.setdefault(one, other)

    def translated(self, value: Json) -> Json:
        """A golden value with its ids replaced by the agent's. An id without a pair becomes one that equals nothing."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self._pattern.sub(lambda match: self._there.get(match.group(), f"\0{match.group()}"), value)
        if isinstance(value, list):
            return [self.translated(item) for item in value]
        if isinstance(value, dict):
            return {name: self.translated(item) for name, item in value.items()}
        return value


Column = tuple[str, str]
"""Table and column."""


class CallMatching:
    """The golden calls of a trial and the executed calls that stand for them."""

    def __init__(self, trial: ReplayedTrial) -> None:
        self._world = trial.world
        self._golden = trial.golden.execution
        self._made = trial.execution
        self._open = frozenset(_open_columns(trial.task.criteria))
        self._ids = MintedIds(self._golden.minted)
        demanded = trial.task.criteria.declined
        self._declined: frozenset[Json] = demanded.accepted if demanded else frozenset()
        self._calls: defaultdict[str, list[ExecutedCall]] = defaultdict(list)
        for step in self._made.calls:
            if step.ok:
                self._calls[step.tool].append(step)
        self._demanded: dict[int, list[RowChange]] = {}
        self._done: dict[int, list[RowChange]] = {}
        self.pairs: dict[int, int] = {}
        """Position of a golden call -> position of its partner."""
        self.taken: set[int] = set()
        """Positions of the agent's calls that have a golden partner."""
        pruned = trial.golden.pruned
        self._match([step for step in self._golden.calls if step.position not in pruned])
        self._match([step for step in self._golden.calls if step.position in pruned and step.ok])

    def nearest(self, golden: Sequence[ExecutedCall]) -> Iterator[tuple[ExecutedCall, ExecutedCall, list[str]]]:
        """Golden calls that nothing stands for, each with the call meant for it, and the arguments that differ.

        A call that was carried out is nearer than one that failed, and that than one that cannot be read.
        """
        for tool in dict.fromkeys(step.tool for step in golden):
            goldens = {step.position: step for step in golden if step.tool == tool}
            calls = self._left(tool)
            while goldens and calls:
                ranked = [
                    (_rank(made), len(self._unlike(step, made)), step.position, made.position)
                    for step in goldens.values()
                    for made in calls.values()
                ]
                _, _, wanted, call = min(ranked)
                step, made = goldens.pop(wanted), calls.pop(call)
                yield step, made, self._unlike(step, made)
                self._learn(step, made)

    def _differing(self, golden: ExecutedCall, made: ExecutedCall) -> list[str]:
        """Names of the arguments in which two calls of one tool differ; null and absent are equal."""
        tool = tool_of(self._world.blueprint, golden.tool)
        found = []
        for name in sorted(golden.arguments.keys() | made.arguments.keys()):
            wanted = self._translated(golden.arguments.get(name))
            if not _means_the_same(tool, name, wanted, made.arguments.get(name)):
                found.append(name)
        return found

    def _translated(self, value: Json) -> Json:
        """A golden value with the ids that it holds replaced by those of the calls that stand for theirs."""
        return self._ids.translated(value)

    def _left(self, tool: str) -> dict[int, ExecutedCall]:
        """Calls of a tool without a partner; of equal failed calls only the first."""
        found: dict[int, ExecutedCall] = {}
        seen: set[str] = set()
        for step in self._made.calls:
            if step.tool == tool and step.position not in self.taken and (step.ok or str(step.arguments) not in seen):
                found[step.position] = step
                seen.add(str(step.arguments))
        return found

    def _unlike(self, golden: ExecutedCall, made: ExecutedCall) -> list[str]:
        """Names of the compared arguments in which two calls of one tool differ."""
        return [name for name in self._differing(golden, made) if not self._is_free(golden, made, name)]

    def _match(self, golden: Sequence[ExecutedCall]) -> None:
        """Pair calls by arguments, then one by its effect, and repeat: each pair reveals more ids."""
        while self._match_by_arguments(golden) or self._match_one_by_effect(golden):
            pass

    def _match_by_arguments(self, golden: Sequence[ExecutedCall]) -> bool:
        before = len(self.pairs)
        for step in golden:
            if step.position not in self.pairs:
                self._take(step, (made for made in self._likely(step) if self._is_same_call(step, made)))
        return len(self.pairs) > before

    def _likely(self, step: ExecutedCall) -> Iterator[ExecutedCall]:
        """Calls of the same tool, then of other tools that sign in too, or transfers because of the policy."""
        yield from self._calls[step.tool]
        if step.tool == DECLINE:
            yield from (made for made in self._calls[TRANSFER] if made.arguments.get("reason") == "policy")
        if step.tool in self._world.sign_ins:
            for tool in sorted(self._world.sign_ins - {step.tool}):
                yield from self._calls[tool]

    def _match_one_by_effect(self, golden: Sequence[ExecutedCall]) -> bool:
        for step in golden:
            if step.position in self.pairs:
                continue
            if step.writes:
                others = [made for made in self._made.calls if made.writes and made.tool != step.tool]
                candidates = [made for made in [*self._calls[step.tool], *others] if made.position not in self.taken]
                if self._take(step, (made for made in candidates if self._has_same_effect(step, made))):
                    return True
            elif self._take(step, (made for made in self._calls[step.tool] if self._shows_the_same(step, made))):
                return True
        return False

    def _take(self, step: ExecutedCall, candidates: Iterable[ExecutedCall]) -> bool:
        made = next((made for made in candidates if made.position not in self.taken), None)
        if made is None:
            return False
        self.pairs[step.position] = made.position
        self.taken.add(made.position)
        self._learn(step, made)
        return True

    def _learn(self, step: ExecutedCall, made: ExecutedCall) -> None:
        if step.tool == made.tool:
            self._ids.pair(zip(step.result.minted, made.result.minted, strict=False))
        else:
            self._ids.pair(_keys_of_inserted(step, made))

    def _is_same_call(self, step: ExecutedCall, made: ExecutedCall) -> bool:
        if made.position in self.taken:
            return False
        if step.tool == TRANSFER:
            return step.arguments.get("reason") == made.arguments.get("reason")
        if step.tool == DECLINE:
            return made.arguments.get("rule") in self._declined
        if step.tool in self._world.sign_ins:
            return self._signed_in(step) == self._signed_in(made)
        return not self._unlike(step, made)

    def _signed_in(self, step: ExecutedCall) -> str | None:
        """The person whom a call signed in."""
        role = self._world.role(step.tool)
        key = str(_cell(step.result.value, role.key))
        return self._world.person_of(role.account, key) or key

    def _is_free(self, step: ExecutedCall, made: ExecutedCall, name: str) -> bool:
        """Whether an argument affects only columns that are not compared, or that count both values as equal."""
        wanted, given = self._translated(step.arguments.get(name)), made.arguments.get(name)
        is_shown = made.writes and given is not None
        shown = _columns_of(made.changes, given) if is_shown else _columns_of(step.changes, wanted)
        return bool(shown) and all(self._is_alike(column, wanted, given) for column in shown)

    def _is_alike(self, column: Column, wanted: Json, given: Json) -> bool:
        how = "free" if column in self._open else self._world.comparison(*column)
        texts = isinstance(wanted, str) and isinstance(given, str)
        return how == "free" or (how == "normalised" and texts and normalise(str(wanted)) == normalise(str(given)))

    def _has_same_effect(self, step: ExecutedCall, made: ExecutedCall) -> bool:
        wanted, done = self._closed(step.changes), self._closed(made.changes)
        if Counter((row.table, row.op) for row in wanted) != Counter((row.table, row.op) for row in done):
            return False
        if made.position not in self._done:
            self._done[made.position] = canonical(done, made.result.minted)
        if step.position not in self._demanded:
            self._demanded[step.position] = canonical(wanted, step.result.minted)
        expected = [_renamed(change, self._ids) for change in self._demanded[step.position]]
        return compare(expected, self._done[made.position], self._world.comparison).is_empty

    def _shows_the_same(self, step: ExecutedCall, made: ExecutedCall) -> bool:
        value = step.result.value
        is_open = step.tool not in SESSION_TOOLS and made.position not in self.taken
        return bool(value) and is_open and is_same(self._translated(value), made.result.value)

    def _closed(self, changes: Sequence[RowChange]) -> list[RowChange]:
        """The changes without cells that the task leaves open, and without updates of such cells alone."""
        if not self._open:
            return [*changes]
        found = [_without(change, self._open) for change in changes]
        return [change for change in found if change.op != "update" or change.after]


def is_same(one: Json, other: Json) -> bool:
    """Whether two JSON values are equal at every level; 5 equals 5.0, and 1 does not equal true."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(item, other[name]) for name, item in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _means_the_same(tool: Tool, name: str, wanted: Json, given: Json) -> bool:
    if is_same(wanted, given):
        return True
    parameter = next((parameter for parameter in tool.parameters if parameter.name == name), None)
    if parameter is None or parameter.type not in ("date", "datetime") or wanted is None or given is None:
        return False
    try:
        return bind_argument(parameter, wanted) == bind_argument(parameter, given)
    except ArgumentError:
        return False


def _rank(made: ExecutedCall) -> int:
    return 0 if made.ok else 2 if made.is_malformed else 1


def _cell(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, dict) else None


def _columns_of(changes: Sequence[RowChange], value: Json) -> set[Column]:
    """The columns into which a call wrote a value."""
    return {
        (change.table, name)
        for change in changes
        for name, cell in (change.after or {}).items()
        if is_same(_as_cell(value), cell)
    }


def _as_cell(value: Json) -> Json:
    return int(value) if isinstance(value, bool) else value


def _keys_of_inserted(step: ExecutedCall, made: ExecutedCall) -> Iterator[tuple[str, str]]:
    """Pairs of keys of inserted rows, for tables into which each side inserted one row."""
    for table in sorted({change.table for change in step.changes}):
        ones, others = (_inserted(one.changes, table) for one in (step, made))
        if len(ones) == len(others) == 1:
            yield ones[0], others[0]


def _inserted(changes: Sequence[RowChange], table: str) -> list[str]:
    return [str(cell) for row in changes if (row.table, row.op) == (table, "insert") for cell in row.key.values()]


def _renamed(change: RowChange, ids: MintedIds) -> RowChange:
    def renamed(cells: Cells | None) -> Cells | None:
        return None if cells is None else {name: ids.translated(cell) for name, cell in cells.items()}

    return change.model_copy(
        update={"key": renamed(change.key), "before": renamed(change.before), "after": renamed(change.after)}
    )


def _without(change: RowChange, columns: frozenset[Column]) -> RowChange:
    def kept(cells: Cells | None) -> Cells | None:
        if cells is None:
            return None
        return {name: cell for name, cell in cells.items() if (change.table, name) not in columns}

    return change.model_copy(update={"before": kept(change.before), "after": kept(change.after)})


def _open_columns(criteria: Criteria) -> Iterator[Column]:
    """Columns that the task leaves open: any value is accepted."""
    for change in [*criteria.state, *(change for state in criteria.any_of for change in state)]:
        for name, cell in (change.after or {}).items():
            if isinstance(cell, dict) and ANY in cell:
                yield change.table, name
