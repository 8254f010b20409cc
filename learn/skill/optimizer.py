"""The optimizer: the model that reflects on conversations and edits the skill. Every question to it is asked here.

An answer that cannot be used is sent back with what is wrong with it, as everywhere. If none comes, the question has no
answer (None), and the step goes on without it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from learn.config import OptimizerConfig, UpdateMode
from learn.skill.document import Edit, Source
from learn.skill.patches import normalise
from learn.skill.replies import (
    FailureKind,
    Guidance,
    LearningRate,
    MergedEdits,
    MergedRewrites,
    MergedSuggestions,
    MetaSkill,
    Ranking,
    Reflection,
    RewriteReflection,
    RewrittenSkill,
    ShortNotes,
    Suggestion,
    SuggestionReflection,
)
from rollout.trajectory import skill_text
from skillweave.base.errors import AuthorError
from skillweave.llm.ask import ask
from skillweave.llm.backends.backend import Backend
from skillweave.llm.ledger import Ledger
from skillweave.llm.question import Question

T = TypeVar("T")
Change = Edit | Suggestion | RewrittenSkill
"""What the optimizer proposes, by `optimizer.skill_update_mode`."""
PACKAGE = "learn.skill.prompts"
STEP = "skill"
"""What the ledger calls the optimizer's questions."""


class Briefing(NamedTuple):
    """What the optimizer is told with each question."""

    skill: str
    """The current skill, with its regions."""
    history: str = ""
    """What was tried before in this epoch."""
    meta: str = ""
    """What it noted for itself at the end of the last epoch."""


class Minibatch(NamedTuple):
    """Conversations that are reflected on together."""

    source: Source
    conversations: Sequence[str]
    """Each as text."""
    instructions: Sequence[str] = ()
    """The system prompts of their worlds, without the skill."""


@dataclass(frozen=True)
class Reflected:
    """What the optimizer proposes after a minibatch."""

    source: Source
    items: tuple[Change, ...]
    patterns: tuple[FailureKind, ...] = ()
    """The kinds of failures that it saw."""
    notes: tuple[str, ...] = ()
    """Reminders of rules that the agent did not follow."""


class Optimizer(Protocol):
    """Reflects and edits. None: there is no usable answer."""

    async def reflect(self, briefing: Briefing, minibatch: Minibatch) -> Reflected | None:
        """Propose changes after conversations."""

    async def merge(self, briefing: Briefing, patches: Sequence[Sequence[Change]], source: str) -> list[Change] | None:
        """Join proposals into one; an empty list drops them all."""

    async def rank(self, briefing: Briefing, pool: Sequence[Change], budget: int) -> list[int] | None:
        """Choose among changes: their positions from 0, the most useful first."""

    async def learning_rate(self, briefing: Briefing, pool: Sequence[Change], hard: float) -> int | None:
        """Say how many changes this step makes."""

    async def rewrite(self, briefing: Briefing, suggestions: Sequence[Change]) -> str | None:
        """Write the body of the skill anew from suggestions."""

    async def guidance(self, briefing: Briefing, before: str, earlier: str, comparison: str) -> Guidance | None:
        """Write the guidance for the next epoch."""

    async def meta_skill(self, briefing: Briefing, before: str, comparison: str) -> MetaSkill | None:
        """Write down what was learned about editing."""

    async def shorten(self, notes: Sequence[str], most: int) -> list[str] | None:
        """Shorten a list of notes."""


def _question(name: str, returns: type[T]) -> Question[T]:
    return Question(f"skill.{name}", returns, package=PACKAGE)


REFLECTIONS: dict[UpdateMode, Question[Any]] = {
    "patch": _question("reflect", Reflection),
    "rewrite_from_suggestions": _question("reflect", SuggestionReflection),
    "full_rewrite_minibatch": _question("reflect", RewriteReflection),
}
MERGES: dict[UpdateMode, Question[Any]] = {
    "patch": _question("merge", MergedEdits),
    "rewrite_from_suggestions": _question("merge", MergedSuggestions),
    "full_rewrite_minibatch": _question("merge", MergedRewrites),
}
RANK = _question("rank", Ranking)
LEARNING_RATE = _question("learning_rate", LearningRate)
REWRITE = _question("rewrite", RewrittenSkill)
SLOW_UPDATE = _question("slow_update", Guidance)
META_SKILL = _question("meta_skill", MetaSkill)
NOTES = _question("notes", ShortNotes)


class ModelOptimizer:
    """A model as the optimizer."""

    def __init__(self, backend: Backend, ledger: Ledger, settings: OptimizerConfig, continuations: int) -> None:
        """Args:
        backend: The model.
        ledger: Where tokens and cost are entered.
        settings: The section `skill.optimizer`.
        continuations: How often an answer that was cut off is continued.
        """
        self._backend = backend
        self._ledger = ledger
        self._settings = settings
        self._continuations = continuations

    @property
    def _mode(self) -> UpdateMode:
        return self._settings.skill_update_mode

    async def reflect(self, briefing: Briefing, minibatch: Minibatch) -> Reflected | None:
        """As `Optimizer.reflect`."""
        variables = {
            **self._variables(briefing),
            "history": briefing.history,
            "source": minibatch.source,
            "trajectories": list(minibatch.conversations),
            "instructions": list(minibatch.instructions),
            "budget": self._settings.learning_rate,
            "mode": self._mode,
            "notes": self._takes_notes(minibatch.source) and self._mode != "full_rewrite_minibatch",
        }
        answer = await self._answer(REFLECTIONS[self._mode], minibatch.source, variables)
        if answer is None:
            return None
        size = answer.batch_size or len(minibatch.conversations)
        proposed = changes_of(answer)[: self._settings.learning_rate]
        notes = tuple(answer.appendix_notes) if variables["notes"] else ()
        items = normalise(proposed, source=minibatch.source, batch_size=size)
        return Reflected(minibatch.source, tuple(items), tuple(answer.failure_summary), notes)

    async def merge(self, briefing: Briefing, patches: Sequence[Sequence[Change]], source: str) -> list[Change] | None:
        """As `Optimizer.merge`."""
        shown = ["\n".join(map(shown_change, patch)) for patch in patches]
        variables = {**self._variables(briefing), "patches": shown, "source": source, "mode": self._mode}
        answer = await self._answer(MERGES[self._mode], source, variables)
        return None if answer is None else changes_of(answer)

    async def rank(self, briefing: Briefing, pool: Sequence[Change], budget: int) -> list[int] | None:
        """As `Optimizer.rank`."""
        variables = {**self._variables(briefing), "pool": [*map(shown_change, pool)], "budget": budget}
        ranking = await self._answer(RANK, "pool", variables)
        return None if ranking is None else [*ranking.selected_indices]

    async def learning_rate(self, briefing: Briefing, pool: Sequence[Change], hard: float) -> int | None:
        """As `Optimizer.learning_rate`."""
        variables = {**self._variables(briefing), "pool": [*map(shown_change, pool)], "hard": hard}
        answer = await self._answer(LEARNING_RATE, "pool", variables | {"history": briefing.history})
        return None if answer is None else answer.learning_rate

    async def rewrite(self, briefing: Briefing, suggestions: Sequence[Change]) -> str | None:
        """As `Optimizer.rewrite`."""
        variables = {**self._variables(briefing), "suggestions": [*map(shown_change, suggestions)]}
        answer = await self._answer(REWRITE, "skill", variables | {"history": briefing.history})
        return None if answer is None or not answer.new_skill.strip() else answer.new_skill

    async def guidance(self, briefing: Briefing, before: str, earlier: str, comparison: str) -> Guidance | None:
        """As `Optimizer.guidance`."""
        variables = {**_both(before, briefing.skill), "guidance": earlier, "comparison": comparison}
        return await self._answer(SLOW_UPDATE, "epoch", self._variables(briefing) | variables)

    async def meta_skill(self, briefing: Briefing, before: str, comparison: str) -> MetaSkill | None:
        """As `Optimizer.meta_skill`."""
        variables = {**_both(before, briefing.skill), "history": briefing.history, "comparison": comparison}
        return await self._answer(META_SKILL, "epoch", self._variables(briefing) | variables)

    async def shorten(self, notes: Sequence[str], most: int) -> list[str] | None:
        """As `Optimizer.shorten`."""
        answer = await self._answer(NOTES, "notes", {"notes": [*notes], "most": most})
        return None if answer is None else [*answer.appendix_notes]

    def _takes_notes(self, source: Source) -> bool:
        both = self._settings.skill_aware_appendix_source == "both"
        return self._settings.use_skill_aware_reflection and (both or source == "failure")

    def _variables(self, briefing: Briefing) -> dict[str, object]:
        return {"skill": briefing.skill, "meta": briefing.meta}

    async def _answer(self, question: Question[T], key: str, variables: Mapping[str, object]) -> T | None:
        """Ask; None if no answer can be used. Raises ProviderError if the optimizer cannot be reached."""
        try:
            return await ask(
                self._backend,
                question,
                key=key,
                variables=variables,
                continuations=self._continuations,
                step=STEP,
                ledger=self._ledger,
            )
        except AuthorError:
            return None


def _both(before: str, now: str) -> dict[str, object]:
    """The skill of the epoch before, and whether it is that of now."""
    return {"before": skill_text(before), "is_same": skill_text(before) == skill_text(now)}


def changes_of(answer: object) -> list[Any]:
    """The changes that an answer proposes, whatever the mode."""
    if isinstance(answer, Reflection | MergedEdits):
        return [*answer.edits]
    if isinstance(answer, SuggestionReflection | MergedSuggestions):
        return [*answer.suggestions]
    if isinstance(answer, MergedRewrites):
        return [candidate for candidate in answer.skill_candidates if candidate.new_skill.strip()]
    if isinstance(answer, RewriteReflection) and answer.new_skill.strip():
        return [RewrittenSkill.model_validate(answer.model_dump(include={"title", "new_skill", "change_summary"}))]
    return []


def shown_change(change: Change) -> str:
    """A change as the optimizer reads it: JSON without what is empty."""
    known = change.model_dump(mode="json", exclude_defaults=True, exclude={"merge_level"})
    origin = {"source_type": change.source_type, "support_count": change.support_count}
    text = json.dumps(known | origin, ensure_ascii=False)
    return text.translate({0x2028: "\\u2028", 0x2029: "\\u2029", 0x85: "\\u0085"})
