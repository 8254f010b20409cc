"""What forms share that turn on the outcome of a call before it is made: what is asked of it, and what decides it."""

from collections.abc import Sequence

from skillweave.schema.combination import Calculation
from skillweave.schema.contract import Tool
from skillweave.schema.criteria import FactToTell, Foreseen, GoldenCall
from skillweave.schema.record import Json
from skillweave.schema.template import TaskTemplate
from skillweave.world.replay import result_reference, value_at
from synth.contracts.visibility import column_origins, reads_that_show, required_parameters
from synth.tasks.facts import LEAST_CENTS
from synth.tasks.forms.form import FormSetting, ListedRow, literal, own_list
from synth.tasks.kinds import Instance, NoInstance, TemplateSource
from synth.tasks.kinds.recipe import UNDONE
from synth.tasks.outcomes import (
    amount_of,
    columns_behind,
    foreseen_amount,
    is_foreseeable,
    missing_columns,
    outcome,
    shown_amounts,
)
from synth.tasks.replay import make_calls, rows_of

MOST_OTHERS = 12
"""Rows of a list with which it is seen what a call would come to otherwise."""


def every_row(goal: TaskTemplate, tool: Tool, source: TemplateSource) -> str | None:
    """The parameter of a goal's only call by which it can be wanted for every row of a list; None if it cannot be."""
    found = goal.calls[0].found_by
    if len(found) != 1:
        return None
    ((parameter, found_by),) = found.items()
    # A figure said once for several rows may be meant for each or for all together.
    figures = any(one.type in ("integer", "number") for one in tool.parameters)
    return parameter if own_list(found_by, source) and not figures else None


def leave_undone(instance: Instance) -> None:
    """Leave the last call of an instance of one call unmade."""
    step = instance.steps[0]
    instance.undone = [instance.golden[step]]
    instance.golden, instance.results = instance.golden[:step], instance.results[:step]
    instance.steps = [UNDONE, *instance.steps[1:]]
    instance.rows = [row.model_copy(update={"call": UNDONE}) if row.call == step else row for row in instance.rows]
    instance.values = [one.model_copy(update={"call": UNDONE}) if one.call == step else one for one in instance.values]
    instance.open_columns, instance.fresh_from = {}, 0


def show_what_decides(setting: FormSetting, instance: Instance, deed: GoldenCall) -> None:
    """Make the reads that show what a call would come to, behind those that are made already.

    Raises:
        NoInstance: Reads do not show it.
    """
    blueprint, tool = setting.world.blueprint, setting.tool(deed.tool)
    if not is_foreseeable(blueprint, columns_behind(setting.world)[tool.name]):
        raise NoInstance("what it would come to cannot be known")
    named = _keys_at_hand(setting, instance, deed)
    missing = missing_columns(setting.world, tool, instance.golden)
    reads = reads_that_show(blueprint, missing, named)
    if reads is None:
        raise NoInstance("what it would come to cannot be known")
    for read in reads:
        given = {one.name: named[one.refers_to] for one in required_parameters(read)}
        arguments = {name: value for name, (value, _) in given.items()}
        grounding = {name: source for name, (_, source) in given.items()}
        instance.golden.append(GoldenCall(tool=read.name, arguments=arguments, grounding=grounding))
    instance.results = setting.run(instance.golden)


def _keys_at_hand(setting: FormSetting, instance: Instance, deed: GoldenCall) -> dict[str | None, tuple[Json, str]]:
    """Key as `Entity.attribute` -> its value and its source: the rows that a call names, and those that these name."""
    entities = {(entity.table, entity.key): f"{entity.name}.{entity.key}" for entity in setting.world.blueprint.tables}
    keys: dict[str | None, tuple[Json, str]] = {}
    for parameter in setting.tool(deed.tool).parameters:
        source = result_reference(deed.grounding.get(parameter.name, ""))
        if source is None or not parameter.refers_to:
            continue
        keys[parameter.refers_to] = deed.arguments[parameter.name], deed.grounding[parameter.name]
        row, dot, _ = source.path.rpartition(".")
        shown = value_at(instance.results[source.call].value, row) if dot else None
        origins = column_origins(setting.tool(instance.golden[source.call].tool))
        for column, value in shown.items() if isinstance(shown, dict) else ():
            key = entities.get(origins.get(column) or ("", ""))
            if key and value is not None:
                keys.setdefault(key, (value, f"call {source.call} {row}.{column}"))
    return keys


def amount_foreseen(setting: FormSetting, instance: Instance, calls: Sequence[GoldenCall], column: str) -> int:
    """What calls would come to, each by itself, after the golden calls.

    Raises:
        NoInstance: They cannot be made lawfully, or the value is easily guessed, or some result shows it.
    """
    with setting.open() as session:
        make_calls(session, instance.golden)
        value = foreseen_amount(session, Foreseen(calls=[*calls], column=column))
    said = {one.value for one in instance.values}
    if value is None or value < LEAST_CENTS or value in shown_amounts(instance.results) or value in said:
        raise NoInstance("what it would come to is no secret")
    return value


def other_outcomes(setting: FormSetting, instance: Instance, deed: GoldenCall, column: str) -> list[Json]:
    """What a call that nobody makes would come to with other rows of the lists from which it takes its own."""
    found: list[Json] = []
    with setting.open() as session:
        make_calls(session, [call for call in instance.golden if call != deed])
        for name, grounding in deed.grounding.items():
            source = result_reference(grounding)
            if source is None or not source.path.startswith("["):
                continue
            key = source.path.rpartition(".")[2]
            for row in rows_of(instance.results[source.call])[:MOST_OTHERS]:
                other = deed.model_copy(update={"arguments": {**deed.arguments, name: row.get(key)}})
                found.append(amount_of(outcome(session, other), column))
    return [*dict.fromkeys(amount for amount in found if amount)]


def foreseen_fact(
    calls: Sequence[GoldenCall], column: str, noun: str, value: int, others: Sequence[Json] = ()
) -> FactToTell:
    """The fact that calls would come to a value, with those to which others would come as its rivals."""
    foreseen = Foreseen(calls=literal(calls), column=column)
    rivals = [other for other in others if other != value]
    return FactToTell(
        fact="told_1", noun=noun, values=[value], type="integer", unit="cents", rivals=rivals, foreseen=foreseen
    )


def outcome_question(tool: str, column: str, noun: str) -> Calculation:
    """What is asked of calls that nobody makes."""
    return Calculation(fact="told_1", tool=tool, sort="outcome", column=column, noun=noun)


def of_row(call: GoldenCall, parameter: str, listed: ListedRow, index: int) -> GoldenCall:
    """A call for another row of the list."""
    key = listed.rows[index][listed.column]
    source = f"call {listed.place} [{index}].{listed.column}"
    return call.model_copy(
        update={
            "arguments": {**call.arguments, parameter: key},
            "grounding": {**call.grounding, parameter: source},
        }
    )


def decided_first(setting: FormSetting, instance: Instance) -> GoldenCall:
    """Let an instance of one call see all that decides what it comes to before it is made. Returns the call.

    Raises:
        NoInstance: Reads do not show it.
    """
    open_columns, deed = instance.open_columns, instance.golden[instance.steps[0]]
    leave_undone(instance)
    show_what_decides(setting, instance, deed)
    do_after_all(setting, instance, deed)
    instance.open_columns = open_columns
    return deed


def do_after_all(setting: FormSetting, instance: Instance, deed: GoldenCall) -> None:
    """Make the call that was left undone, behind the others."""
    step = len(instance.golden)
    instance.undone = []
    instance.golden = [*instance.golden, deed]
    instance.steps = [step, *instance.steps[1:]]
    instance.rows = [row.model_copy(update={"call": step}) if row.call == UNDONE else row for row in instance.rows]
    instance.values = [one.model_copy(update={"call": step}) if one.call == UNDONE else one for one in instance.values]
    instance.fresh_from = len(instance.golden)
    instance.results = setting.run(instance.golden)


def is_gain(column: str) -> bool:
    """Whether people want an amount to be high: what they get back, not what they pay."""
    return not _GAINS.isdisjoint(column.split("_"))


_GAINS = frozenset({"refund", "refunded", "credited", "payable", "approved", "goodwill", "drawn"})
"""Words of amounts that people get."""
