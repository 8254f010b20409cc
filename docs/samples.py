"""Generate docs/samples.md: a task of each kind as people read it."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import skillweave
from docs.reference import code, plain, quoted, table
from skillweave.base.errors import ConfigError, SkillweaveError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Cells, RowChange, Tool
from skillweave.schema.criteria import Criteria, FactToTell, GoldenCall
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world.dataset import Dataset
from synth.cli.task_story import LATER

_HELD = {"agent": "the agent alone: the tool would do it", "tool": "the tool"}


def task_section(number: int, task: Task, blueprints: Sequence[Blueprint]) -> str:
    """The section; `blueprints` are those of the task's domains."""
    tools = {tool.name: tool for blueprint in blueprints for tool in blueprint.tools}
    asked = [task.criteria.asked] if task.criteria.asked else []
    why = f" ({plain(task.scenario.reason)})" if task.scenario.reason else ""
    parts = [
        f"## {number}. {plain(task.id)}\n",
        f"{_sort(task)}, {task.split}; {plain(task.world)}; the clock stands at {task.now}.\n",
        _who(task),
        "**First message**\n",
        *_said(task),
        f"**What they want** {plain(task.scenario.goal)}{why}\n",
        *_known(task),
        "**Rules in play**\n",
        _rules([tools[call.tool] for call in [*task.golden, *asked] if call.tool in tools]),
        "**Golden calls**\n",
        _calls(task.golden),
        *_asked(asked),
        "**Expected changes**\n",
        _changes(task.criteria.state),
        *_told(task.criteria.communicate),
        *_conduct(task.criteria),
        *_planted(task),
        f"**Scored on** {', '.join(task.criteria.reward_basis)}. **Gates**\n",
        _gates(task),
    ]
    return "\n".join(parts)


def _sort(task: Task) -> str:
    """The kind, the forms if there are any, and the level."""
    forms = ", ".join(plain(form.name.replace("_", " ")) for form in task.forms)
    return f"{task.kind} ({forms or 'plain'}), level {task.difficulty.level}"


def _who(task: Task) -> str:
    person = task.persona
    traits = f"; {', '.join(person.traits)}" if person.traits else ""
    signed = (
        f"signed in as {code(task.env_variables.LOGGED_IN_USER or '')}"
        if task.login == "session"
        else "not signed in: the agent has to identify them"
    )
    return f"**Who** {plain(person.name)}, {person.age}, {plain(person.style + traits)}; {signed}.\n"


def _known(task: Task) -> Iterator[str]:
    if task.scenario.facts:
        yield "**What they know**\n"
        rows = [(plain(fact.text), code(_json(fact.value)), fact.tell) for fact in task.scenario.facts]
        yield table(["in their words", "value", "said"], rows)


def _rules(tools: Sequence[Tool]) -> str:
    """Rules of the golden tools, those that only the agent holds first, then what the calls bring about."""
    guards = {guard.rule: guard for tool in tools for guard in tool.guards}
    ordered = sorted(guards.values(), key=lambda guard: guard.enforced_by != "agent")
    rows = [(guard.rule, plain(guard.says), _HELD[guard.enforced_by]) for guard in ordered]
    effects = {effect.rule: effect for tool in tools for effect in tool.effects}
    rows += [(effect.rule, plain(effect.says), "an effect") for effect in effects.values()]
    return table(["rule", "says", "held by"], rows) if rows else "None.\n"


def _calls(calls: Sequence[GoldenCall]) -> str:
    lines = []
    for number, call in enumerate(calls):
        lines.append(f"- call {number}: {code(call.tool)}{' (a fault is planted)' if call.fault else ''}")
        for name, value in call.arguments.items():
            lines.append(f"  - {code(f'{name} = {_json(value)}')} from {code(call.grounding.get(name, 'nowhere'))}")
    return "\n".join(lines) + "\n"


def _changes(changes: Sequence[RowChange]) -> str:
    if not changes:
        return "None: nothing may change.\n"
    return "\n".join(_change(change) for change in changes) + "\n"


def _change(change: RowChange) -> str:
    named = f"- {change.op} {code(change.table)} {code(_json(change.key))}"
    if change.op != "update":
        return f"{named}: {code(_json(change.after or change.before))}"
    before, after = change.before or {}, change.after or {}
    return f"{named}: {', '.join(_cell(name, before, after) for name in after)}"


def _cell(name: str, before: Cells, after: Cells) -> str:
    return f"{code(name)} {code(_json(before.get(name)))} → {code(_json(after[name]))}"


def _asked(asked: Sequence[GoldenCall]) -> Iterator[str]:
    if asked:
        yield "**Asked for, and not to be done**\n"
        yield _calls(asked)


def _conduct(criteria: Criteria) -> Iterator[str]:
    """What has to be recorded as declined, what told first, and what nobody could do."""
    why = {ban.rule: ban.why for ban in criteria.must_not}
    declined = [criteria.declined.rule, *criteria.declined.also] if criteria.declined else []
    lines = (
        [f"- recorded as declined by {' or '.join(declined)}: {plain(why.get(declined[0], ''))}"] if declined else []
    )
    lines += [f"- told before {code(ask.tool)}: {' or '.join(map(code, ask.facts))}" for ask in criteria.must_ask]
    lines += [
        f"- handed over: no offered tool writes {code(table)} ({', '.join(map(plain, columns))})"
        for table, columns in criteria.beyond.items()
    ]
    if lines:
        yield "**The agent's conduct**\n"
        yield "\n".join(lines) + "\n"


def _planted(task: Task) -> Iterator[str]:
    if task.noise is not None:
        yield "**Faults planted**\n"
        lines = [
            f"- {plain(one.fault.replace('_', ' '))} in call {one.occurrence} of {code(one.tool)}"
            f"{'' if one.arguments is None else ' with ' + code(_json(one.arguments))}"
            for one in task.noise.faults
        ]
        yield "\n".join(lines) + "\n"


def _told(facts: Sequence[FactToTell]) -> Iterator[str]:
    if facts:
        yield "**To be told**\n"
        lines = []
        for fact in facts:
            rivals = f"; not {', '.join(code(_json(value)) for value in fact.rivals)}" if fact.rivals else ""
            lines.append(f"- {plain(fact.noun)}: {' or '.join(code(_json(value)) for value in fact.values)}{rivals}")
        yield "\n".join(lines) + "\n"


def _gates(task: Task) -> str:
    figures = task.gates.model_dump(mode="json")
    rows = [(name.replace("_", " "), code(_json(found)) if found else "not run") for name, found in figures.items()]
    return table(["gate", "figures"], rows)


def _json(value: Json | Cells) -> str:
    return json.dumps(value, ensure_ascii=False)


def form_section(form: str, tasks: Sequence[Task]) -> str:
    """Tasks in one form, in short: what is said, when, and what is right."""
    return "\n".join([f"## In the form {plain(form.replace('_', ' '))}\n", *map(_in_short, tasks)])


def _in_short(task: Task) -> str:
    forms = " and ".join(dict.fromkeys(plain(form.name.replace("_", " ")) for form in task.forms))
    calls = [
        f"{code(call.tool)} {code(_json(call.arguments))}{' (a fault is planted)' if call.fault else ''}"
        for call in task.golden
    ]
    told = [
        f"{plain(fact.noun)} {' or '.join(code(_json(value)) for value in fact.values)}"
        for fact in task.criteria.communicate
    ]
    right = [f"- Right: {'; '.join(calls)}", *([f"- Told: {'; '.join(told)}"] if told else [])]
    head = f"**{plain(task.id)}**, {task.kind} ({forms}), level {task.difficulty.level}, today {task.now[:10]}\n"
    return "\n".join([head, *_said(task), *right, ""])


def _said(task: Task) -> Iterator[str]:
    """What the user says first, later, and when something is declined."""
    yield from (quoted(message.content or "") for message in task.messages)
    if task.scenario.later is not None:
        yield f"{LATER[task.scenario.later.when]}:\n"
        yield quoted(task.scenario.later.says)
    if task.scenario.insists:
        yield "When it is declined:\n"
        yield from map(quoted, task.scenario.insists)


INTRO = """\
# Samples

Made by `python -m docs.samples`: {count} of {total} tasks, drawn with seed {seed}: first tasks of one domain, then
tasks that need several, and in the end tasks in each form of request, in short.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 2 where there is no dataset to draw from."""
    parser = argparse.ArgumentParser(prog="python -m docs.samples", description="Print tasks of a dataset in full.")
    parser.add_argument("--outputs", "--outputs-dir", type=Path, default=Path("outputs"), help="a finished dataset")
    parser.add_argument("--seed", type=int, default=1, help="which tasks are drawn")
    parser.add_argument("--count", type=int, default=10, help="how many of one domain")
    parser.add_argument("--cross", type=int, default=5, help="how many of several domains")
    parser.add_argument("--form", type=int, default=10, help="how many in each form of request, in short")
    parser.add_argument("--to", type=Path, default=Path(__file__).with_name("samples.md"), help="the page to write")
    given = parser.parse_args(arguments)
    try:
        text = samples(given.outputs, seed=given.seed, count=given.count, cross=given.cross, form=given.form)
    except SkillweaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    given.to.write_text(text, "utf-8")
    print(f"wrote {given.to}")
    return 0


def samples(outputs: Path, *, seed: int, count: int, cross: int = 0, form: int = 0) -> str:
    """The page. Raises ConfigError where there are no tasks, ArtifactError where a file is missing or damaged."""
    dataset = skillweave.open(outputs)
    ids = sorted(dataset.tasks)
    if not ids:
        raise ConfigError(f"{str(outputs)!r} holds no tasks yet; make them with: python -m synth run")
    fused = {id for world in dataset.tasks.worlds for id in _ids_across(dataset, world)}
    alone = [id for id in ids if id not in fused]
    drawn = sorted(Random(f"{seed}/samples").sample(alone, min(count, len(alone))))
    drawn += sorted(Random(f"{seed}/samples across").sample(sorted(fused), min(cross, len(fused))))
    parts = [INTRO.format(count=len(drawn), total=len(ids), seed=seed)]
    for number, id in enumerate(drawn, start=1):
        task = dataset.tasks[id]
        parts.append(task_section(number, task, [dataset.blueprint(task.world)]))
    for name, names in sorted(_ids_by_form(dataset).items()) if form else ():
        own = sorted(Random(f"{seed}/samples {name}").sample(names, min(form, len(names))))
        parts.append(form_section(name, [dataset.tasks[id] for id in own]))
    return "\n".join(parts)


def _ids_by_form(dataset: Dataset) -> dict[str, list[str]]:
    """Form -> ids of the tasks in it, sorted."""
    ids: dict[str, list[str]] = {}
    for id in sorted(dataset.tasks):
        for name in dict.fromkeys(form.name for form in dataset.tasks[id].forms):
            ids.setdefault(name, []).append(id)
    return ids


def _ids_across(dataset: Dataset, world: str) -> list[str]:
    """Ids of a world's tasks, where it is of several domains."""
    tasks = list(dataset.tasks.of(world))
    return [task.id for task in tasks if len(task.domains) > 1]


if __name__ == "__main__":
    sys.exit(main())
