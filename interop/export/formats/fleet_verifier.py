"""Verifiers of the `fleet` format: Python source that checks a session's rows, made from a task's criteria.

A verifier compares all rows of `env.db("current")` with those of `env.db("seed")`, and demands the row changes of one
of the task's end states and no others; ids that the session minted may be any. Values that the user has to be told
must stand in the final answer, in one of the usual forms. It sees no conversation: whether the agent asked before it
acted, and what it recorded as declined, cannot be checked in this way.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from skillweave.schema.contract import RowChange
from skillweave.schema.criteria import FactToTell
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world.world import World

SOURCE = '''\
def validate_task(env, final_answer=None):
    """Whether the rows changed as the task demands and in no other way, and the final answer tells what it asks for."""
    import json
    import re

    keys = json.loads({keys})
    comparisons = json.loads({comparisons})
    end_states = json.loads({ends})
    to_tell = json.loads({told})

    def plain(text):
        return re.sub(r"[\\W_]+", "", str(text).casefold())

    def words(text):
        return " " + re.sub(r"[^\\w.]+", " ", str(text).casefold().replace(",", "")) + " "

    def changes():
        seed, current = env.db("seed"), env.db("current")
        for table, key in keys.items():
            before = {{row[key]: row for row in seed.table(table).all()}}
            after = {{row[key]: row for row in current.table(table).all()}}
            for id in before.keys() | after.keys():
                old, new = before.get(id), after.get(id)
                if old is None or new is None:
                    yield table, "insert" if old is None else "delete", {{key: id}}, old, new
                elif old != new:
                    names = [name for name in new if old.get(name) != new[name]]
                    cells = ({{name: row.get(name) for name in names}} for row in (old, new))
                    yield table, "update", {{key: id}}, *cells

    def bound(expected, actual, how, ids):
        if how == "free" or isinstance(expected, dict) and "$any" in expected:
            return ids
        if not isinstance(expected, dict):
            if how == "normalised" and isinstance(expected, str) and isinstance(actual, str):
                return ids if plain(expected) == plain(actual) else None
            return ids if expected == actual else None
        text = expected.get("text", "{{%d}}" % expected["$new"])
        parts = re.split(r"\\{{(\\d+)\\}}", text)
        pattern = "".join("(.+)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
        matched = re.fullmatch(pattern, str(actual))
        if matched is None:
            return None
        ids = dict(ids)
        for number, id in zip(parts[1::2], matched.groups()):
            if ids.setdefault(number, id) != id or list(ids.values()).count(id) > 1:
                return None
        return ids

    def is_open(change):
        values = (change[4] or {{}}).values()
        return change[1] == "update" and all(isinstance(value, dict) and "$any" in value for value in values)

    def paired(demanded, happened, ids):
        if not demanded:
            return not happened
        if is_open(demanded[0]) and paired(demanded[1:], happened, ids):
            return True
        table, op, *cells = demanded[0]
        for at, (other_table, other_op, *others) in enumerate(happened):
            if (table, op) != (other_table, other_op):
                continue
            found = ids
            for expected, actual in zip(cells, others):
                for name in (expected or {{}}).keys() | (actual or {{}}).keys():
                    how = comparisons.get(table, {{}}).get(name, "exact")
                    known = name in (expected or {{}}) and name in (actual or {{}})
                    open_value = isinstance((cells[2] or {{}}).get(name), dict) and "$any" in cells[2][name]
                    if how == "free" or open_value:
                        continue
                    found = bound(expected[name], actual[name], how, found) if known else None
                    if found is None:
                        break
                if found is None:
                    break
            if found is not None and paired(demanded[1:], happened[:at] + happened[at + 1 :], found):
                return True
        return False

    happened = list(changes())
    if not any(paired(end, happened, {{}}) for end in end_states):
        print("ERROR_ACCUMULATOR: the rows did not change as demanded")
        return 0
    answer = words(final_answer or "")
    for forms in to_tell:
        if not any(words(form) in answer or words(form + ".") in answer for form in forms):
            print("ERROR_ACCUMULATOR: the final answer does not tell one of " + repr(forms))
            return 0
    print("SUCCESS_ACCUMULATOR: the rows changed as demanded")
    return 1
'''


def can_verify(task: Task) -> bool:
    """Whether rows and a final answer show if the task was done."""
    criteria = task.criteria
    told = "communicate" in criteria.reward_basis and bool(criteria.communicate)
    return bool(criteria.state) or told


def verifier_of(task: Task, world: World) -> str:
    """The source of a task's verifier."""
    ends = [[_change(change) for change in end] for end in (task.criteria.state, *task.criteria.any_of)]
    told = task.criteria.communicate if "communicate" in task.criteria.reward_basis else []
    return SOURCE.format(
        keys=_literal({entity.table: entity.key for entity in world.blueprint.tables}),
        comparisons=_literal(_comparisons(task, world)),
        ends=_literal(ends),
        told=_literal([[*_forms(fact)] for fact in told]),
    )


def _literal(value: object) -> str:
    return repr(json.dumps(value, ensure_ascii=False))


def _change(change: RowChange) -> list[object]:
    return [change.table, change.op, change.key, change.before, change.after]


def _comparisons(task: Task, world: World) -> dict[str, dict[str, str]]:
    """How columns are compared that are not compared exactly, by table; only tables that the task changes."""
    tables = {change.table for end in (task.criteria.state, *task.criteria.any_of) for change in end}
    return {
        entity.table: {
            column.name: how
            for column in entity.attributes
            if (how := world.comparison(entity.table, column.name)) != "exact"
        }
        for entity in world.blueprint.tables
        if entity.table in tables
    }


def _forms(fact: FactToTell) -> Iterator[str]:
    """The usual forms of the values of a fact."""
    for value in fact.values:
        yield from _cents(value) if fact.unit == "cents" else _texts(value)


def _cents(value: Json) -> Sequence[str]:
    assert isinstance(value, int | float)
    amount = f"{value / 100:.2f}"
    return [amount, *([amount.removesuffix(".00")] if amount.endswith(".00") else [])]


def _texts(value: Json) -> Iterator[str]:
    text = str(value)
    yield text.replace("_", " ")
    try:
        moment = datetime.fromisoformat(text) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None:
        return
    ending = {1: "st", 2: "nd", 3: "rd"}.get(moment.day % 10 * (moment.day // 10 != 1), "th")
    days = [text[:10], f"{moment.day} {moment:%B}", f"{moment:%B} {moment.day}"]
    days += [
        f"{moment.day}{ending} of {moment:%B}" if of else f"{moment:%B} {moment.day}{ending}" for of in (False, True)
    ]
    if len(text) == len("YYYY-MM-DD"):
        yield from days
        return
    for day in days:
        yield from (f"{day} at {moment:%H:%M}", f"{day} {moment:%H:%M}")
