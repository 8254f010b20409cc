"""Schedule: which items are settled, which are ready to be done, and which wait for others.

The keys of a step become known when the steps that make them end, so planning goes on while items run. An item is ready
when everything that it waits for is settled. Only then is it decided whether the item has to be done: if a redone item
has the same result as before, the items after it stay as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from skillweave.base.manifest import ItemRecord
from synth.engine.artifact import Artifact
from synth.engine.run import PipelineRun
from synth.engine.step import ALL, JOIN, PipelineStep


class ItemId(NamedTuple):
    """One item of one step, by name."""

    step: str
    key: str


@dataclass(frozen=True)
class DueItem:
    """An item that has to be done, and can be: everything that it waits for is settled."""

    step: PipelineStep[Any]
    item: ItemId
    upstream: tuple[ItemId, ...]
    """The items that it waited for."""
    reason: str
    round: int = 0
    """How often its authors were asked anew before."""
    sent_back: tuple[str, ...] = ()
    """Reasons of later rejections that its authors are told."""
    rank: tuple[int, int] = (0, 0)
    """Steps that wait for its own, and bytes of what it waited for. Items of high rank are begun first: those that
    hold up most, and of these the long ones, so that short ones are left for the end."""


@dataclass
class StepPlan:
    """The items of one step."""

    step: PipelineStep[Any]
    keys: list[str]
    items: list[ItemId]
    """One for each key, then the join if the step has one."""
    is_ended: bool = False

    @cached_property
    def known(self) -> frozenset[ItemId]:
        """The items, to look one up."""
        return frozenset(self.items)


class RunListener:
    """Hears how a run goes. This one does nothing; displays override it."""

    def planned(self, plan: StepPlan) -> None:
        """The items of a step are known."""

    def ready(self, due: DueItem) -> None:
        """An item has to be done."""

    def settled(self, item: ItemId, record: ItemRecord, *, was_done: bool) -> None:
        """An item is settled: done now, up to date, or skipped."""


class Schedule:
    """The state of all items of a run."""

    def __init__(self, run: PipelineRun, listener: RunListener) -> None:
        self._run = run
        self._listener = listener
        self.unplanned: list[PipelineStep[Any]] = []
        self.plans: dict[str, StepPlan] = {}
        self.records: dict[ItemId, ItemRecord] = {}
        self.ready: dict[ItemId, DueItem] = {}
        """Items that wait for a worker, or run."""
        self.blocked: dict[ItemId, tuple[ItemId, ...]] = {}
        """Items that wait for others -> the items that they wait for."""
        self._unsettled: dict[ItemId, int] = {}
        """Blocked item -> how many of the items that it waits for are not settled."""
        self._followers: dict[ItemId, list[ItemId]] = {}
        """Item that is not settled -> the blocked items that wait for it."""
        self._unblocked: list[ItemId] = []
        """Blocked items for which everything is settled."""
        self._later_steps: dict[str, int] = {}
        """Step -> how many steps wait for it."""
        self.executed: set[ItemId] = set()
        """Items that ran. All other settled items were up to date, or could not be done."""

    @property
    def retries_rejected(self) -> bool:
        """Whether rejections do not stand."""
        return self._run.spec.retries_rejected

    def add(self, steps: Sequence[PipelineStep[Any]]) -> list[DueItem]:
        """Add steps, which may read what steps added before made. Returns the items that are due at once."""
        self.unplanned.extend(steps)
        return self._advance()

    def settle(self, item: ItemId, record: ItemRecord) -> list[DueItem]:
        """Take the record of an item that ran. Returns the items that are due now."""
        del self.ready[item]
        self.executed.add(item)
        self._put(item, record, was_done=True)
        self._end_where_settled(item.step)
        return self._advance()

    def waits_for(self, item: ItemId) -> list[str]:
        """Short names of the steps that a blocked item waits for."""
        return sorted(
            {self.plans[before.step].step.short for before in self.blocked[item] if before not in self.records}
        )

    def owed(self) -> list[str]:
        """Joined files of ended steps that differ from their items' outputs. A run writes them; a dry run does not."""
        plans = [plan for plan in self.plans.values() if plan.is_ended]
        return [
            path
            for plan in plans
            for path in self._run.results.unwritten_joined(plan.step, [self.records[i] for i in plan.items])
        ]

    def _advance(self) -> list[DueItem]:
        due: list[DueItem] = []
        moved = True
        while moved:
            unblocked, self._unblocked = self._unblocked, []
            for item in unblocked:
                due.extend(self._consider(self.plans[item.step].step, item, self.blocked.pop(item)))
                self._end_where_settled(item.step)
            plannable = [step for step in self.unplanned if self._plan(step)]
            moved = bool(unblocked or plannable)
        return due

    def _block(self, item: ItemId, upstream: tuple[ItemId, ...]) -> None:
        """Block an item until everything before it is settled."""
        self.blocked[item] = upstream
        unsettled = [before for before in upstream if before not in self.records]
        self._unsettled[item] = len(unsettled)
        for before in unsettled:
            self._followers.setdefault(before, []).append(item)
        if not unsettled:
            self._unblocked.append(item)

    def _plan(self, step: PipelineStep[Any]) -> bool:
        """Plan a step if its keys are known. All its items are blocked at first."""
        keys = self._keys(step)
        if keys is None:
            return False
        self.unplanned = [other for other in self.unplanned if other is not step]
        items = [ItemId(step.name, key) for key in keys]
        if step.join is not None:
            items.append(ItemId(step.name, JOIN))
        self.plans[step.name] = StepPlan(step, keys, items)
        self._listener.planned(self.plans[step.name])
        for item in items:
            self._block(item, self._upstream(step, item.key))
        self._remove_gone(step, {item.key for item in items})
        self._end_where_settled(step.name)
        return True

    def _consider(self, step: PipelineStep[Any], item: ItemId, upstream: tuple[ItemId, ...]) -> list[DueItem]:
        """Settle an item that is up to date or cannot be done. Any other is due."""
        records = [self.records[before] for before in upstream]
        decision = self._run.staleness.decide(step, item.key, records)
        previous = self._run.manifest.item(*item)
        if decision.blocked_by:
            self._put(item, self._run.results.skip(step, item.key, decision.blocked_by), was_done=False)
        elif not decision.redo and previous is not None:
            self._put(item, previous, was_done=False)
        else:
            rank = self._followers_of(step), sum(output.size for record in records for output in record.outputs)
            due = DueItem(step, item, upstream, decision.reason, decision.round, decision.sent_back, rank)
            self.ready[item] = due
            self._listener.ready(due)
            return [due]
        return []

    def _followers_of(self, step: PipelineStep[Any]) -> int:
        if step.name not in self._later_steps:
            self._later_steps[step.name] = self._run.pipeline.followers(step)
        return self._later_steps[step.name]

    def _put(self, item: ItemId, record: ItemRecord, *, was_done: bool) -> None:
        self.records[item] = record
        for follower in self._followers.pop(item, ()):
            self._unsettled[follower] -= 1
            if not self._unsettled[follower]:
                self._unblocked.append(follower)
        self._listener.settled(item, record, was_done=was_done)

    def _upstream(self, step: PipelineStep[Any], key: str) -> tuple[ItemId, ...]:
        """The items that the item of a key waits for."""
        before: list[ItemId] = []
        for wait in self._run.pipeline.waits(step):
            plan = self.plans[wait.producer.name]
            own = ItemId(wait.producer.name, key)
            before.extend(plan.items if wait.whole or key == JOIN else [own] if own in plan.known else ())
        if key == JOIN:
            before.extend(item for item in self.plans[step.name].items if item.key != JOIN)
        return tuple(before)

    def _keys(self, step: PipelineStep[Any]) -> list[str] | None:
        """The keys of a step's items; None if they are not known yet."""
        if any(wait.producer.name not in self.plans for wait in self._run.pipeline.waits(step)):
            return None
        if step.each is None:
            return [ALL]
        all_keys: set[str] = set()
        for artifact in step.listed:
            keys = self._keys_of(artifact, step)
            if keys is None:
                return None
            all_keys |= keys
        return sorted(all_keys)

    def _keys_of(self, artifact: Artifact[Any], step: PipelineStep[Any]) -> set[str] | None:
        keys: set[str] = set()
        for maker in self._run.pipeline.makers(artifact, step):
            if maker.each is not None and artifact in maker.writes:
                keys.update(self.plans[maker.name].keys)
                continue
            source = self.records.get(ItemId(maker.name, ALL if maker.each is None else JOIN))
            if source is None:
                return None
            keys.update(output.key for output in source.outputs if output.artifact == artifact.pattern)
        return keys

    def _remove_gone(self, step: PipelineStep[Any], keys: set[str]) -> None:
        """Remove the results of items whose keys no longer exist."""
        for record in self._run.manifest.items(step.name):
            if record.key not in keys:
                self._run.results.remove(record)

    def _end_where_settled(self, step: str) -> None:
        plan = self.plans[step]
        if not plan.is_ended and all(item in self.records for item in plan.items):
            plan.is_ended = True
            self._run.results.write_joined(plan.step, [self.records[item] for item in plan.items])
