"""What conversations will take: requests, tokens and cost, before any is held.

The system prompts and tools of the tasks are known exactly. How long a conversation gets is measured where the rollouts
folder has conversations of these very speakers, and otherwise as long as those of strong models were.
"""

import json
from collections.abc import Iterable
from typing import NamedTuple

from rollout.folder import RolloutFolder
from rollout.shards import skill_of
from rollout.task import TaskSource
from rollout.user import FORM
from rollout.world.source import WorldTasks, user_config
from skillweave.config.sections import Config
from skillweave.llm.backends.backend import Reply
from skillweave.llm.connections import UNPAID, price_of
from skillweave.llm.ledger import CHARACTERS_PER_TOKEN
from skillweave.llm.models import split_name
from skillweave.schema.task import Task
from skillweave.schema.trajectory import TrajectoryRecord
from skillweave.world.instruction import instruction
from skillweave.world.tools import tool_definitions

CALLS_EACH = 1.22
"""Calls of an agent for each golden call. This and what follows: of 20 conversations of strong models on both sides, in
the tasks of a default run, at all levels of difficulty. Reasoning is not in them."""
CALLS_TOGETHER = 2.1
"""Calls in a reply with calls. Agents that call one tool at a time make so many times the requests."""
WORDS = 4.65
"""Replies of the agent to the user; each has an answer of the user."""
CALL_CHARS = 143
RESULT_CHARS = 890
WORDS_CHARS = 387
"""Of a reply to the user."""
ANSWER_CHARS = 224
"""Of an answer of the user, in its form."""


class Usage(NamedTuple):
    """Requests and tokens of one speaker."""

    requests: float = 0.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0

    def plus(self, other: "Usage", times: float = 1.0) -> "Usage":
        """The sum, with the other one so many times."""
        return Usage(*(mine + times * theirs for mine, theirs in zip(self, other, strict=True)))


class TalkEstimate(NamedTuple):
    """What conversations take, of both sides."""

    agent: Usage = Usage()
    user: Usage = Usage()

    def plus(self, other: "TalkEstimate", times: float = 1.0) -> "TalkEstimate":
        """The sum, with the other one so many times."""
        return TalkEstimate(self.agent.plus(other.agent, times), self.user.plus(other.user, times))

    @property
    def total(self) -> Usage:
        """Both sides together."""
        return self.agent.plus(self.user)


class Forecast:
    """Estimates conversations of one configuration."""

    def __init__(self, config: Config, source: TaskSource, folder: RolloutFolder | None = None) -> None:
        """Create a forecast.

        Args:
            config: The configuration of the run.
            source: Its tasks.
            folder: A rollouts folder of the same speakers, whose conversations are measured; None: there is none.
        """
        self._config = config
        self._source = source
        self._speakers = config.rollout.agent.model, user_config(config.rollout).model
        self._has_model = [config.rollout.parts.backend is not None or not _is_unpaid(self._speakers[0])]
        self._has_model.append(not _is_unpaid(self._speakers[1]))
        self._skill_chars = len(skill_of(config.rollout))
        self._prompt_chars: dict[tuple[str, tuple[str, ...]], int] = {}
        """World and tools that are hidden -> characters of the system prompt and the tools."""
        self.measured, self._mean = _measured(folder.records() if folder is not None else ())

    @property
    def is_known(self) -> bool:
        """Whether anything is known about the tasks: they are a dataset's, or conversations were measured."""
        return isinstance(self._source, WorldTasks) or self.measured > 0

    @property
    def asks_models(self) -> bool:
        """Whether a model takes part."""
        return any(self._has_model)

    @property
    def basis(self) -> str:
        """What the estimate rests on, in words."""
        if not self.asks_models:
            return "scripted agents and users take no tokens and cost nothing"
        if self.measured:
            return f"estimated from the {self.measured:,} conversations that the folder holds"
        return (
            "estimated from the prompts and tools of these tasks, and from what conversations of strong models took: "
            f"{CALLS_EACH:.1f} calls for each golden call, {CALLS_TOGETHER:.1f} or one to a request, {WORDS:.1f} "
            f"replies to the user, {CHARACTERS_PER_TOKEN:.0f} characters a token; reasoning, and cheaper cached input, "
            "are not in it"
        )

    def of(self, ids: Iterable[str]) -> tuple[TalkEstimate, TalkEstimate]:
        """The least and the most that conversations are likely to take, one for each id. They are equal if measured."""
        low, high = TalkEstimate(), TalkEstimate()
        for id in ids:
            one, other = self._of_one(id)
            low, high = low.plus(one), high.plus(other)
        return low, high

    def cost(self, talk: TalkEstimate) -> float | None:
        """The cost in US dollars; None if a price is not known."""
        cost = 0.0
        for name, has_model, usage in zip(self._speakers, self._has_model, talk, strict=True):
            price = price_of(name, self._config.llm) if has_model else None
            if price is None and has_model:
                return None
            reply = Reply("", round(usage.tokens_in), output_tokens=round(usage.tokens_out))
            cost += price.cost_usd(reply) if price is not None else 0.0
        return cost

    def _of_one(self, id: str) -> tuple[TalkEstimate, TalkEstimate]:
        if self._mean is not None:
            return self._mean, self._mean
        if not isinstance(self._source, WorldTasks) or not self.asks_models:
            return TalkEstimate(), TalkEstimate()
        task = self._source.record(id)
        calls = CALLS_EACH * len(task.golden)
        return self._talk(task, calls, calls / CALLS_TOGETHER), self._talk(task, calls, calls)

    def _talk(self, task: Task, calls: float, requests_with_calls: float) -> TalkEstimate:
        """A conversation. Each request repeats what was said before it: on average half of all that will be said."""
        opening = sum(len(message.content or "") for message in task.messages)
        said = calls * (CALL_CHARS + RESULT_CHARS) + WORDS * (WORDS_CHARS + ANSWER_CHARS)
        heard = WORDS * (WORDS_CHARS + ANSWER_CHARS)
        prompt = self._prompt_of(task) + self._skill_chars
        agent = _usage(
            requests_with_calls + WORDS, prompt + opening + said / 2, calls * CALL_CHARS + WORDS * WORDS_CHARS
        )
        user = _usage(WORDS, len(task.user_system_prompt) + len(FORM) + heard / 2, WORDS * ANSWER_CHARS)
        return TalkEstimate(
            *(usage if has else Usage() for usage, has in zip((agent, user), self._has_model, strict=True))
        )

    def _prompt_of(self, task: Task) -> int:
        assert isinstance(self._source, WorldTasks)
        group = task.world, tuple(task.tools_hidden)
        if group not in self._prompt_chars:
            dataset, is_compact = self._source.dataset, self._config.rollout.prompt == "compact"
            blueprint = dataset.blueprint(task.world)
            tools = tool_definitions(blueprint, frozenset(task.tools_hidden))
            text = instruction(task, dataset.policy(task.world), blueprint, tools, compact=is_compact)
            self._prompt_chars[group] = len(text) + len(json.dumps(tools))
        return self._prompt_chars[group]


def _is_unpaid(name: str) -> bool:
    return split_name(name)[0] in UNPAID


def _usage(requests: float, chars_in: float, chars_out: float) -> Usage:
    """Args:
    requests: Their number.
    chars_in: Characters that one sends on average.
    chars_out: Characters of all answers.
    """
    return Usage(requests, requests * chars_in / CHARACTERS_PER_TOKEN, chars_out / CHARACTERS_PER_TOKEN)


def _measured(records: Iterable[TrajectoryRecord]) -> tuple[int, TalkEstimate | None]:
    """How many conversations with tokens there are, and the mean of what they took; None if there are none."""
    count, total = 0, TalkEstimate()
    for record in records:
        agent, user = record.usage.agent, record.usage.user
        if agent.input_tokens + user.input_tokens:
            replies = [message for message in record.messages if message.role == "assistant"]
            answers = max(0, sum(message.role == "user" for message in record.messages) - 1)
            count += 1
            total = total.plus(
                TalkEstimate(
                    Usage(len(replies), agent.input_tokens, agent.output_tokens),
                    Usage(answers, user.input_tokens, user.output_tokens),
                )
            )
    return count, TalkEstimate().plus(total, 1 / count) if count else None
