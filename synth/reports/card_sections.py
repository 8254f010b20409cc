"""The sections of a dataset's card on how it was proved and evaluated. Each is a list of Markdown lines."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from evaluator.kinds import KINDS
from skillweave.schema.evaluation import AgentSummary, Ladder, PassCount
from skillweave.schema.record import Json
from skillweave.schema.reports import CoverageCount, Diversity, RuleCoverage
from skillweave.schema.task import Task
from synth.gates import GATES
from synth.reports.rule_coverage import GateRate, GateRates

_SPECIAL = re.compile(r"([\\`*{}\[\]<>|]|(?<!\w)_|_(?!\w))")

GATES_LEGEND = (
    "The source of an argument is what the user says, the session or the policy gives, or a field of an earlier "
    "result. Wrong and right trajectories are made from the golden ones by execution; one that is judged wrongly "
    "costs its task, which is the rate of tasks dropped. The second set, by other operators and another seed, drops "
    "nothing, and its rates are of trajectories (`python -m evaluator selftest --held-out` measures them)."
)
SEARCH_STATES = {
    "proved": "the golden end state, and the shortest ways there",
    "undecided": "nothing before it came to its bound",
    "never": "of what a rule forbids: no lawful way to what it would change",
    "skipped": "not made: the tool itself refuses the request, or nothing is asked of a tool",
    "by effects": "not made: no effect of an offered tool writes the columns in question",
}
"""Outcome of a search -> its meaning."""
COVERAGE_LEGEND = (
    "Of what the contracts have: tools and effects that golden calls use, rules of the tools that they meet or that "
    "forbid what is asked, pairs of tools that follow each other, values of arguments' enums. What a policy says of "
    "effects is among the rules of the next table, and not of this one."
)
RULES_LEGEND = (
    "A rule is kept by golden calls that meet it, and would be broken by what a `refuse` task asks for, or by leaving"
    " out a call that it demands. Many only say what a call does, and cannot be broken by a request. "
    "`rules/<world>.json` lists them all, with the reasons."
)
JUDGED_LEGEND = (
    "In cases at the limit of a rule, one that just meets it and one that just breaks it, the judge decided from the "
    "rule's sentence alone; a sentence that it decided otherwise than the SQL was worded anew."
)
NOT_JUDGED_LEGEND = (
    "Not judged: figures and enum values of each rule's sentence were compared with its SQL, and no model read the "
    "sentence (`llm.judge` named none)."
)
USERS_LEGEND = (
    "Lost to the user: not scored, since the user said what it cannot know. Left: the user went while a question was "
    "open, its request neither done, declined nor handed over; scored as it stands."
)
AGENTS_LEGEND = (
    "`nothing` does nothing; `random` calls by chance; `careless` does what is golden and makes a slip; `policy_blind` "
    "does what is golden and heeds no rule that the tools leave to it; `oracle` has read the golden calls."
)


def gates(tasks: Sequence[Task], rates: GateRates) -> list[str]:
    """What the gates prove of every task, and how often the checks are wrong."""
    arguments = [_whole(task.gates.grounded, "arguments") for task in tasks]
    grounded = [_whole(task.gates.grounded, "grounded") for task in tasks]
    passing = sum(task.gates.golden.get("replays") is not None for task in tasks)
    rows: list[tuple[str, str]] = [
        ("golden calls replay, twice the same", share(passing, len(tasks))),
        ("doing nothing passes", share(sum(map(_passes_idle, tasks)), len(tasks))),
        ("arguments with a source on record", share(sum(grounded), sum(arguments))),
        ("wrong trajectories, all failed", f"{rates.mutants:,} (at least {rates.fewest_mutants} a task)"),
        ("right ones, all passed", f"{rates.equivalents:,} (at least {rates.fewest_equivalents} a task)"),
        ("false pass, tasks dropped for it", _rate(rates.false_pass)),
        ("false fail, tasks dropped for it", _rate(rates.false_fail)),
        ("false pass, second set", _rate(rates.second_false_pass)),
        ("false fail, second set", _rate(rates.second_false_fail)),
    ]
    proofs = [(name, gate.proves) for name, gate in GATES.items()]
    return [*table(("gate", "what each task had to show"), proofs), *table(("figure", "value"), rows), GATES_LEGEND, ""]


def _passes_idle(task: Task) -> bool:
    idle = task.gates.not_already_true.get("doing_nothing")
    return isinstance(idle, dict) and all(idle.get(basis, 0) == 1 for basis in task.criteria.reward_basis)


def _rate(rate: GateRate | None) -> str:
    if rate is None or rate.interval is None:
        return "not measured"
    low, high = 100 * rate.interval.low, 100 * rate.interval.high
    return f"{100 * rate.rate:.2f} % of {rate.tried:,} (95 %: {low:.2f}-{high:.2f})"


def planner(tasks: Sequence[Task]) -> list[str]:
    """The outcomes of the planner's search, by number of tasks."""
    states = Counter(str(task.gates.planner.get("status")) for task in tasks if task.gates.planner)
    rows = [(name, SEARCH_STATES.get(name, ""), count) for name, count in sorted(states.items())]
    return table(("search without the golden calls", "what it found", "tasks"), rows)


def coverage(report: Diversity) -> list[str]:
    """How much of the contracts the tasks reach, by world."""
    names = ("tools", "rules", "effects", "pairs", "values")
    rows = [
        (world, *(_reach(getattr(entry.coverage, name)) for name in names)) for world, entry in report.worlds.items()
    ]
    lines = table(("world", "tools", "rules", "effects", "pairs of tools", "values of enums"), rows)
    return [*lines, COVERAGE_LEGEND, ""] if lines else []


def rules(coverage_of: Mapping[str, Sequence[RuleCoverage] | None]) -> list[str]:
    """How many rules tasks keep and would break, and how many others have a reason on record, by world."""
    rows = [
        (
            world,
            len(world_rules),
            sum(rule.kept > 0 for rule in world_rules),
            sum(rule.broken > 0 for rule in world_rules),
            sum(rule.why is not None for rule in world_rules),
        )
        for world, world_rules in coverage_of.items()
        if world_rules is not None
    ]
    lines = table(("world", "rules", "kept by a task", "broken by a request", "a reason why not both"), rows)
    return [*lines, RULES_LEGEND, ""] if lines else []


def sentences(verdicts: Mapping[str, int]) -> list[str]:
    """The judge's verdicts on the rules' sentences, or a note that no judge read them."""
    if not verdicts:
        return [NOT_JUDGED_LEGEND, ""]
    rows = [(name.removeprefix("cases "), count) for name, count in verdicts.items()]
    return [*table(("the judge and the SQL", "cases"), rows), JUDGED_LEGEND, ""]


def floors(agents: Sequence[AgentSummary]) -> list[str]:
    """The rewards of doing nothing and of chance, over the tasks of the agent with the most tasks."""
    most = max(agents, key=lambda agent: agent.overall.tasks, default=None)
    if most is None or most.overall.floors.nothing is None:
        return []
    nothing, chance = percent(most.overall.floors.nothing), percent(most.overall.floors.random)
    return [
        f"Mean reward on {most.overall.tasks:,} tasks: doing nothing {nothing}, calls and words of chance {chance}.",
        "",
    ]


def users(agents: Sequence[AgentSummary]) -> list[str]:
    """Errors of the simulated users, by agent and user."""
    rows = [
        (
            agent.agent,
            agent.user,
            agent.trajectories,
            share(agent.simulated_user.lost, agent.trajectories),
            share(agent.simulated_user.left, agent.simulated_user.checked),
        )
        for agent in agents
    ]
    lines = table(("agent", "user", "conversations", "lost to the user", "left"), rows)
    return [*lines, USERS_LEGEND, ""] if lines else []


def _reach(count: CoverageCount) -> str:
    return f"{count.reached} of {count.all}"


def diversity(report: Diversity) -> list[str]:
    """How varied the first messages are."""
    wording, removed = report.wording, report.duplicates
    rows: list[tuple[str, object]] = [
        ("different kinds with their sequences of calls, counted by world", report.structures),
        (
            "different words, pairs, triples, of all (higher: more varied)",
            _three(wording.distinct_1, wording.distinct_2, wording.distinct_3),
        ),
        ("BLEU against each other (lower: more varied)", _decimal(wording.self_bleu)),
        ("different sentences, values masked, of all (higher: more varied)", _decimal(wording.skeletons)),
    ]
    if removed is not None:
        rows.append(("exact and near duplicates removed", f"{removed.exact} and {removed.near}"))
    return table(("of the first messages", "figure"), rows)


def _three(*shares: float | None) -> str:
    return ", ".join(map(_decimal, shares))


def percent(value: float | None) -> str:
    """A share as a percentage."""
    return "-" if value is None else f"{100 * value:.2f} %"


def _decimal(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def ladder(results: Ladder) -> list[str]:
    """The results of the scripted agents."""
    kinds = [kind for kind in KINDS if any(kind in rung.by_kind for rung in results.rungs)]
    named = [
        f"{kind} ({max(rung.by_kind[kind].tasks for rung in results.rungs if kind in rung.by_kind):,})"
        for kind in kinds
    ]
    rows = [
        (rung.agent, _passed(rung.overall), *(_passed(rung.by_kind.get(kind)) for kind in kinds))
        for rung in results.rungs
    ]
    return [
        *table(("agent", "all", *named), rows),
        f"One conversation each in {results.tasks:,} tasks{_sampled(results)}. {_order(results)}",
        AGENTS_LEGEND,
        "",
    ]


def _sampled(ladder: Ladder) -> str:
    return "" if ladder.sample is None else f", at most {ladder.sample} of each world"


def _passed(step: PassCount | None) -> str:
    return "-" if step is None else share(step.passed, step.tasks)


def _order(ladder: Ladder) -> str:
    if ladder.wrong:
        return "Not as it must be: " + "; ".join(map(text, ladder.wrong)) + "."
    return (
        "Who knows more gets further: nothing, random, oracle; and whoever is careless or heeds no rule falls behind."
    )


def authors(answered: Iterable[tuple[str, str, int]]) -> list[str]:
    """Which model or catalogue answered which questions."""
    return table(("author", "question", "answers"), [(who, what, n) for who, what, n in sorted(answered)])


def _whole(figures: dict[str, Json], name: str) -> int:
    value = figures.get(name)
    return value if isinstance(value, int) else 0


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A Markdown table; empty if it has no rows. All columns but the first are aligned to the right."""
    cells = [[text(cell) for cell in row] for row in rows]
    if not cells:
        return []
    rules = ["---", *["---:"] * (len(columns) - 1)]
    return [*(f"| {' | '.join(row)} |" for row in [list(columns), rules, *cells]), ""]


def text(value: object) -> str:
    """A value as text on one line, with Markdown escaped."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return _SPECIAL.sub(r"\\\1", " ".join(str(value).split()))


def share(part: int, whole: int) -> str:
    """A part of a whole as a percentage."""
    return f"{100 * part / whole:.1f} %" if whole else "-"
