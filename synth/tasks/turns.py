"""Turns: in which order templates are tried, and their combinations judged, so that a world's tasks come out mixed.

Plain goals, goals in each form and the other kinds are *lanes*, and a world's tasks are shared out among its lanes.
Whichever lane lags most comes next; within it, first a split that has less than its share of the templates' families,
then what the mix of levels lacks, and what covers something new.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evaluator.kinds import KINDS
from skillweave.schema.contract import DECLINE
from skillweave.schema.task import Split
from skillweave.schema.template import TaskTemplate

PLAIN = "plain"
"""The lane of goals in no form."""
GOALS = 0.78
"""Share of goals in all lanes, where there are others."""
REFUSALS = 0.12
"""Share of requests that are declined."""
HELPINGS = 3
"""How often a template may give more than is wanted of it, where its lane lacks something."""
SCARCE = {
    "aggregate": 3.4,
    "choice": 1.7,
    "comparison": 2.2,
    "batch": 4.5,
    "change_of_mind": 4.4,
    "fallback": 4.6,
    "what_if": 7.5,
    "errands": 11,
}
"""Lanes of goals that get more than others where there are enough: few worlds have them, or they are the hard ones."""
MOST_VAIN = 150
"""A lane is given up once so many more of its templates were tried in vain than not."""
IN_VAIN = 0.25
"""What something of which nothing came counts in its lane, so that no lane keeps all others waiting."""


def is_goal(template: TaskTemplate) -> bool:
    """Whether somebody gets what they want: its kind is that of goals."""
    return KINDS[template.kind].is_goal


def is_refusal(template: TaskTemplate) -> bool:
    """Whether the request is declined."""
    return KINDS[template.kind].ending == DECLINE


def lanes_of(template: TaskTemplate) -> list[str]:
    """The lanes in which a template counts: of a goal its forms; of another kind the kind, with its form if it has one.

    A goal of several forms counts in each, with an equal part.
    """
    if is_goal(template):
        return [*dict.fromkeys(template.forms)] or [PLAIN]
    return [" ".join([template.kind, *dict.fromkeys(template.forms)])]


def lane_shares(templates: Iterable[TaskTemplate]) -> dict[str, float]:
    """Lane -> its share of a world's tasks.

    Goals have equal shares for all their lanes but scarce ones, and refusals have; the others as they have templates.
    """
    goals: set[str] = set()
    refusals: set[str] = set()
    others: Counter[str] = Counter()
    for template in templates:
        group = goals if is_goal(template) else refusals if is_refusal(template) else others
        group.update(lanes_of(template))
    weights = {lane: SCARCE.get(lane, 1.0) for lane in sorted(goals)}
    shares = {lane: GOALS * weight / sum(weights.values()) for lane, weight in weights.items()}
    shares |= {lane: REFUSALS / len(refusals) for lane in sorted(refusals)}
    rest = 1 - GOALS - REFUSALS
    shares |= {lane: rest * others[lane] / others.total() for lane in sorted(others)}
    # What a world has none of is shared by the others.
    return {lane: share / sum(shares.values()) for lane, share in shares.items()}


class Turns:
    """Says of which template something comes next, and keeps count of what came of it."""

    def __init__(
        self, templates: Sequence[TaskTemplate], levels: Mapping[int, float], splits: Mapping[str, Split] | None = None
    ) -> None:
        """Args:
        levels: Level -> share that is wanted of it.
        splits: Template -> its split; None: all are in one.
        """
        self.shares = lane_shares(templates)
        self.lanes = {template.id: lanes_of(template) for template in templates}
        """Template -> the lanes in which it counts."""
        self.goals = {lane for template in templates if is_goal(template) for lane in lanes_of(template)}
        """Lanes of goals."""
        self.formless = {lane for template in templates if not template.forms for lane in lanes_of(template)}
        """Lanes of what is asked for in no form."""
        self.found: dict[str, float] = dict.fromkeys(self.shares, 0)
        """Lane -> how many have been found."""
        self._known = {template.id: template for template in templates}
        self._place = {template.id: place for place, template in enumerate(templates)}
        self.vain: Counter[str] = Counter()
        """Lane -> templates that were tried in vain; of a goal of several forms, the lane of the last is meant."""
        self.fruitful: Counter[str] = Counter()
        """The same of templates of which something came."""
        self._wanted = levels
        self._levels: Counter[int] = Counter()
        self._splits = splits or dict.fromkeys(self.lanes, "train")
        families = Counter({one.base or one.id: self._splits[one.id] for one in templates}.values())
        self._split_shares = {split: count / families.total() for split, count in families.items()}
        self._by_split: Counter[Split] = Counter()
        self._covered: Counter[str] = Counter()

    def next(self, ahead: Mapping[str, int], lanes: Collection[str]) -> str | None:
        """The template whose turn it is; None if nothing is ahead.

        Args:
            ahead: Template -> level of what comes next of it.
            lanes: Lanes that still want something.
        """
        waiting: dict[str, list[str]] = {}
        for name in ahead:
            for lane in self.lanes[name]:
                if lane in lanes:
                    waiting.setdefault(lane, []).append(name)
        if not waiting:
            return None
        lane = min(waiting, key=lambda lane: (self._progress(lane), lane))
        return min(waiting[lane], key=lambda name: self._rank(name, ahead[name]))

    def settle(self, template: str, levels: Sequence[int]) -> None:
        """Count what came of a template: the level of each that was found; empty if it was in vain."""
        known = self._known[template]
        self._covered[_covered(known)] += 1
        self._levels.update(levels)
        self._by_split[self._splits[template]] += len(levels)
        lanes = self.lanes[template]
        for lane in lanes:
            self.found[lane] += len(levels) / len(lanes)
        (self.fruitful if levels else self.vain)[lanes[-1]] += 1

    def _progress(self, lane: str) -> float:
        return (self.found[lane] + IN_VAIN * self.vain[lane]) / self.shares[lane]

    def _rank(self, name: str, level: int) -> tuple[bool, float, float, int]:
        """Of a split, goals are sought for their level first, other kinds for the rule or the slot that they cover."""
        split = self._splits[name]
        is_served = self._by_split[split] >= self._split_shares[split] * (self._by_split.total() + 1)
        lacking = self._wanted.get(level, -1) * (self._levels.total() + 1) - self._levels[level]
        covered = self._covered[_covered(self._known[name])]
        first = (-lacking, covered) if is_goal(self._known[name]) else (covered, -lacking)
        return (is_served, *first, self._place[name])


@dataclass
class TemplateTurns:
    """The templates of a world in turn, until each lane has what is enough.

    Whoever takes one settles what came of it before taking the next. In a world of one domain, those that gave all that
    was wanted of them come again in the end, where their lane still lacks something.
    """

    turns: Turns
    ahead: dict[str, int]
    """Template that is still to be tried -> the level that is expected of it."""
    most: Mapping[str, int]
    """Template -> how many are wanted of it."""
    enough: int
    """What the lanes share; 0: every template is tried, once."""
    is_fused: bool = False
    """Whether all stories, and what is declined, are tried all the same: a fused world has few."""
    again: dict[str, int] = field(default_factory=dict)
    """Template that gave all that was wanted of it -> the level of what it gave."""

    def __iter__(self) -> Iterator[str]:
        yield from self._taken(self.ahead)
        for _ in range(HELPINGS if self.enough and not self.is_fused else 0):
            again, self.again = self.again, {}
            yield from self._taken(again)

    def _taken(self, ahead: dict[str, int]) -> Iterator[str]:
        while (name := self.turns.next(self._promising(ahead), self._open_lanes())) is not None:
            del ahead[name]
            yield name

    def _promising(self, ahead: Mapping[str, int]) -> dict[str, int]:
        """Those ahead, without lanes that are given up."""
        if not self.enough:
            return dict(ahead)
        turns = self.turns
        hopeless = {lane for lane, vain in turns.vain.items() if vain > turns.fruitful[lane] + MOST_VAIN}
        return {name: level for name, level in ahead.items() if turns.lanes[name][-1] not in hopeless - self._always}

    def settle(self, template: str, levels: Sequence[int]) -> None:
        """Count what came of a template; see `Turns.settle`."""
        self.turns.settle(template, levels)
        if levels and len(levels) >= self.most[template]:
            self.again[template] = levels[0]

    def _open_lanes(self) -> list[str]:
        shares, found = self.turns.shares, self.turns.found
        return [
            lane
            for lane, share in shares.items()
            if not self.enough or lane in self._always or found[lane] < share * self.enough
        ]

    @property
    def _always(self) -> set[str]:
        """Lanes of which everything is tried."""
        return self.turns.formless if self.is_fused else set()


def _covered(template: TaskTemplate) -> str:
    """What is not yet covered as long as no task has it: a rule, or else what the template was derived from."""
    return template.forbidden or (template.base or template.id if is_goal(template) else template.id)
