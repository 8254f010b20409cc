"""Schedule: which items are settled, which are ready to be done, and which wait for others.

Keys come to be known as the steps that make them end, so planning goes on while items run. An item is ready when all
that it waits for is settled; only then is it decided whether it has to be done at all, so a redone item that comes out
equal stops the wave.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from skillweave.base.manifest import ItemRecord
from synth.artifacts import Artifact
from synth.engine.run import PipelineRun
from synth.engine.step import ALL, JOIN, PipelineStep


class ItemId(NamedTuple):
    """One item of one step, by name."""

    step: str
    key: str


@dataclass(frozen=True)
class DueItem:
    """An item that is to be done, now that all it waits for is settled."""

    step: PipelineStep[Any]
    item: ItemId
    upstream: tuple[ItemId, ...]
    reason: str
    round: int = 0
    sent_back: tuple[str, ...] = ()


@dataclass
class StepPlan:
    """The items of one step."""

    step: PipelineStep[Any]
    keys: list[str]
    items: list[ItemId]
    is_ended: bool = False


class RunListener:
    """Who wants to know how a run goes. It does nothing; displays do."""

    def planned(self, plan: StepPlan) -> None:
        """The items of a step are known."""

    def ready(self, work: DueItem) -> None:
        """An item is to be done."""

    def settled(self, item: ItemId, record: ItemRecord, *, was_done: bool) -> None:
        """An item is settled: done now, up to date, or skipped."""


class Schedule:
    def __init__(self, run: PipelineRun, listener: RunListener) -> None:
        self._run = run
        self._listener = listener
        self.unplanned: list[PipelineStep[Any]] = []
        self.plans: dict[str, StepPlan] = {}
        self.records: dict[ItemId, ItemRecord] = {}
        self.ready: dict[ItemId, DueItem] = {}
        """To be done, or being done."""
        self.blocked: dict[ItemId, tuple[ItemId, ...]] = {}
        """Items that wait, with what they wait for."""

    @property
    def retries_rejected(self) -> bool:
        """Whether rejections do not stand."""
        return self._run.spec.retries_rejected

    def add(self, steps: Sequence[PipelineStep[Any]]) -> list[DueItem]:
        """Take on steps, which stand on those taken on before. The work that is known at once."""
        self.unplanned.extend(steps)
        return self._advance()

    def settle(self, item: ItemId, record: ItemRecord) -> list[DueItem]:
        """Take what an item came to; the work that can be done now."""
        del self.ready[item]
        self._put(item, record, was_done=True)
        self._end_where_settled(item.step)
        return self._advance()

    def waits_for(self, item: ItemId) -> list[str]:
        """Short names of the steps that a blocked item waits for."""
        return sorted(
            {self.plans[before.step].step.short for before in self.blocked[item] if before not in self.records}
        )

    def owed(self) -> list[str]:
        """Joined files of ended steps that are not as their items are: written at the end of a run, not of a look."""
        plans = [plan for plan in self.plans.values() if plan.is_ended]
        return [path for plan in plans for path in self._run.owed(plan.step, [self.records[i] for i in plan.items])]

    def _advance(self) -> list[DueItem]:
        found: list[DueItem] = []
        moved = True
        while moved:
            unblocked = [item for item, upstream in self.blocked.items() if self._are_settled(upstream)]
            for item in unblocked:
                found.extend(self._consider(self.plans[item.step].step, item, self.blocked.pop(item)))
                self._end_where_settled(item.step)
            plannable = [step for step in self.unplanned if self._plan(step)]
            moved = bool(unblocked or plannable)
        return found

    def _are_settled(self, items: tuple[ItemId, ...]) -> bool:
        return all(item in self.records for item in items)

    def _plan(self, step: PipelineStep[Any]) -> bool:
        """Plan a step, if its keys can be known; all its items wait at first."""
        keys = self._keys(step)
        if keys is None:
            return False
        self.unplanned = [other for other in self.unplanned if other is not step]
        items = [ItemId(step.name, key) for key in keys]
        if step.join is not None:
            items.append(ItemId(step.name, JOIN))
        self.plans[step.name] = StepPlan(step, keys, items)
        self._listener.planned(self.plans[step.name])
        self.blocked.update({item: self._upstream(step, item.key) for item in items})
        self._drop_gone(step, {item.key for item in items})
        self._end_where_settled(step.name)
        return True

    def _consider(self, step: PipelineStep[Any], item: ItemId, upstream: tuple[ItemId, ...]) -> list[DueItem]:
        """Settle an item that is up to date or cannot be done; else it is work."""
        records = [self.records[before] for before in upstream]
        decision = self._run.decide(step, item.key, records)
        previous = self._run.manifest.item(*item)
        if decision.blocked_by:
            self._put(item, self._run.skip(step, item.key, decision.blocked_by), was_done=False)
        elif not decision.redo and previous is not None:
            self._put(item, previous, was_done=False)
        else:
            work = self.ready[item] = DueItem(step, item, upstream, decision.reason, decision.round, decision.sent_back)
            self._listener.ready(work)
            return [work]
        return []

    def _put(self, item: ItemId, record: ItemRecord, *, was_done: bool) -> None:
        self.records[item] = record
        self._listener.settled(item, record, was_done=was_done)

    def _upstream(self, step: PipelineStep[Any], key: str) -> tuple[ItemId, ...]:
        found: list[ItemId] = []
        for wait in self._run.pipeline.waits(step):
            items = self.plans[wait.producer.name].items
            found.extend(item for item in items if wait.whole or key in (JOIN, item.key))
        if key == JOIN:
            found.extend(item for item in self.plans[step.name].items if item.key != JOIN)
        return tuple(found)

    def _keys(self, step: PipelineStep[Any]) -> list[str] | None:
        """The keys of a step's items; None where they cannot be known yet."""
        if any(wait.producer.name not in self.plans for wait in self._run.pipeline.waits(step)):
            return None
        if step.each is None:
            return [ALL]
        found: set[str] = set()
        for artifact in step.listed:
            keys = self._keys_of(artifact, step)
            if keys is None:
                return None
            found |= keys
        return sorted(found)

    def _keys_of(self, artifact: Artifact[Any], step: PipelineStep[Any]) -> set[str] | None:
        found: set[str] = set()
        for maker in self._run.pipeline.makers(artifact, step):
            if maker.each is not None and artifact in maker.writes:
                found.update(self.plans[maker.name].keys)
                continue
            source = self.records.get(ItemId(maker.name, ALL if maker.each is None else JOIN))
            if source is None:
                return None
            found.update(output.key for output in source.outputs if output.artifact == artifact.pattern)
        return found

    def _drop_gone(self, step: PipelineStep[Any], keys: set[str]) -> None:
        """Remove what items made whose keys there are no longer."""
        for record in self._run.manifest.items(step.name):
            if record.key not in keys:
                self._run.remove(record)

    def _end_where_settled(self, step: str) -> None:
        plan = self.plans[step]
        if not plan.is_ended and all(item in self.records for item in plan.items):
            plan.is_ended = True
            self._run.finish(plan.step, [self.records[item] for item in plan.items])
