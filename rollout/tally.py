"""Tally: what a run came to so far, counted as trajectories end."""

from collections import Counter
from dataclasses import dataclass, field

from skillweave.schema.trajectory import OWED, TrajectoryRecord, Usage

USER_SHARE = 0.02
"""A larger share of trajectories lost to the user is worth a warning."""


@dataclass
class Tally:
    done: int = 0
    passed: int = 0
    scored: int = 0
    stops: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    """By kind."""
    first_errors: dict[str, str] = field(default_factory=dict)
    """Kind -> the first one, with its trajectory."""
    unreadable: list[str] = field(default_factory=list)
    """Trajectories whose task could not be read, each with the reason."""
    agents: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    sent_back: int = 0
    """Answers of users that were sent back."""
    tokens_kept: int = 0
    """Trajectories with token ids or log probabilities."""
    calls: int = 0
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    """None once something without a known price was used."""

    def add(self, record: TrajectoryRecord) -> None:
        """Count one."""
        self.done += 1
        self.stops[record.stop_reason] += 1
        self.agents.add(record.agent.backend)
        self.users |= {record.user.backend} if record.user is not None else set()
        extras = [message.model_extra or {} for message in record.messages]
        self.tokens_kept += any("token_ids" in extra or "logprobs" in extra for extra in extras)
        if record.error is not None:
            self.errors[record.error.kind] += 1
            self.first_errors.setdefault(record.error.kind, f"{record.id}: {record.error.message}")
        if record.score is not None and record.score.passed is not None:
            self.scored += 1
            self.passed += record.score.passed
        self.calls += _whole(record.metadata.get("tool_call_count"))
        self.sent_back += _whole(record.metadata.get("user_sent_back"))
        self.turns += _whole(record.metadata.get("total_turns"))
        for usage in (record.usage.agent, record.usage.user):
            self._add_usage(usage)

    @property
    def owed(self) -> int:
        """Trajectories that the next run tries anew."""
        return sum(self.errors[kind] for kind in OWED)

    @property
    def user_share(self) -> float:
        """The share lost to the simulated user."""
        return self.errors["user"] / self.done if self.done else 0.0

    def _add_usage(self, usage: Usage) -> None:
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        known = self.cost_usd is not None and usage.cost_usd is not None
        self.cost_usd = self.cost_usd + usage.cost_usd if known else None  # type: ignore[operator]


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
