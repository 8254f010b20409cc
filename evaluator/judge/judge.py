"""The judge: a model that is asked once of each conversation, and answers all questions of it in that call.

A judge that gives no usable answer is a fault of the judgement, kept and counted. An endpoint that is down, or a
budget that is spent, says nothing of a conversation: it ends the judging, and the next run goes on from the cache.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal, get_args

from evaluator.judge.prompt import conversation, shortened, task_words
from evaluator.judge.questions import (
    JUDGE,
    MOST,
    WORDING,
    Asked,
    Judgement,
    complaints_of,
    numbered,
    points,
)
from skillweave.config.models import Config
from skillweave.digest import digest_json
from skillweave.errors import AuthorError, ConfigError, ProviderError, StopError
from skillweave.llm.ask import ask
from skillweave.llm.backend import Backend
from skillweave.llm.connections import Connections
from skillweave.llm.gate import Gate
from skillweave.llm.ledger import Ledger
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.score import JudgedAnswer, JudgedCheck
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Usage

JudgedName = Literal["rubric", "subjective"]
JUDGED: tuple[JudgedName, ...] = get_args(JudgedName)
"""Names of the checks that a judge makes."""
LONGEST_WHY = 1_000
LONGEST_FAULT = 400
_MOST_UNREACHED = 8
"""Conversations in a row of which no answer came; after so many the endpoint is taken to be down."""
_VERSION = 12


@dataclass(frozen=True)
class Judged:
    """What the judge says of a conversation."""

    rubric: JudgedCheck | None = None
    """None: not asked for, or no usable answer."""
    subjective: JudgedCheck | None = None
    """None: not asked for, or no usable answer."""
    fault: str | None = None
    """Why there is no answer where one was asked for, in one line."""


class Judge:
    """Judges conversations, many at once, on one event loop."""

    def __init__(self, config: Config, *, checks: Collection[str] = (), folder: Path | None = None) -> None:
        """`checks` are made of every task, beside what the configuration asks for; the runs on `folder` share the
        budget. Raises ConfigError."""
        settings = config.evaluation
        enabled = {"rubric": settings.enable_rubric, "subjective": settings.enable_subjective}
        self.checks = tuple(name for name in JUDGED if name in checks or enabled[name])
        """Checks that are made of every task; `rubric` is also made where a task's reward asks for it."""
        self.ledger = Ledger()
        self._settings = settings
        self._backend, *self._fallback = _connected(config, self.ledger, folder)
        self._continuations = config.llm.continuations
        self._gate = Gate(config.llm.max_concurrency)
        self._unreached = 0

    @property
    def name(self) -> str:
        """`provider/model`."""
        return self._backend.name

    @property
    def version(self) -> str:
        """Changes with the words of the prompt, of the questions, and with the form of the answer."""
        own: list[Json] = [[*self._settings.rubric], [*self._settings.subjective], [*self.checks]]
        return digest_json([JUDGE.digest, [*WORDING], *own])[:_VERSION]

    @property
    def usage(self) -> Usage:
        """Tokens and cost so far; what the cache answers costs nothing."""
        total = self.ledger.total()
        cost = None if total.unpriced else total.cost_usd
        return Usage(input_tokens=total.input_tokens, output_tokens=total.output_tokens, cost_usd=cost)

    def wanted(self, task: Task) -> tuple[JudgedName, ...]:
        """The checks to be made of a task."""
        return tuple(
            name for name in JUDGED if name in self.checks or (name == "rubric" and name in task.criteria.reward_basis)
        )

    async def judge(self, task: Task, messages: Sequence[Message]) -> Judged:
        """What the judge says of a conversation. Raises StopError, and ProviderError where the endpoint is down."""
        wanted = self.wanted(task)
        if not wanted:
            return Judged()
        asked = Asked(
            numbered("r", [*points(task), *self._settings.rubric] if "rubric" in wanted else []),
            numbered("s", self._settings.subjective if "subjective" in wanted else []),
        )
        if len(asked.rubric) > MOST:
            return Judged(fault=f"there are {len(asked.rubric)} points; at most {MOST} are judged")
        try:
            async with self._gate:
                answer = await self._ask(task, messages, asked)
        except AuthorError as error:
            self._unreached = 0
            return Judged(fault=_one_line(error))
        except StopError:
            raise
        except ProviderError as error:
            self._unreached += 1
            if self._unreached < _MOST_UNREACHED:
                return Judged(fault=_one_line(error))
            raise ProviderError(f"the judge did not answer {self._unreached} times in a row; last: {error}") from error
        self._unreached = 0
        return self._judged(asked, answer)

    async def close(self) -> None:
        """Let go of connections and of the cache."""
        for backend in (self._backend, *self._fallback):
            await backend.close()

    async def _ask(self, task: Task, messages: Sequence[Message], asked: Asked) -> Judgement:
        return await ask(
            self._backend,
            JUDGE,
            # Not the trajectory's id: the same words of the same task have one answer.
            key=task.id,
            variables={
                "task": task_words(task),
                "conversation": conversation(messages),
                **asked._asdict(),
            },
            check=complaints_of(asked),
            ledger=self.ledger,
            fallback=self._fallback,
            continuations=self._continuations,
        )

    def _judged(self, asked: Asked, answer: Judgement) -> Judged:
        met = {point.question: (float(point.met), point.why) for point in answer.rubric}
        rated = {rating.question: ((rating.rating - 1) / 4, rating.why) for rating in answer.subjective}
        return Judged(self._check(asked.rubric, met), self._check(asked.subjective, rated))

    def _check(self, asked: Mapping[str, str], answers: Mapping[str, tuple[float, str]]) -> JudgedCheck | None:
        if not asked:
            return None
        given = [
            JudgedAnswer(question=text, score=score, why=shortened(why, LONGEST_WHY))
            for text, (score, why) in ((text, answers[number]) for number, text in asked.items())
        ]
        mean = fmean(answer.score for answer in given)
        return JudgedCheck(score=mean, judge=self.name, prompt_version=self.version, answers=given)


def _connected(config: Config, ledger: Ledger, folder: Path | None) -> list[Backend]:
    """The judge of the configuration and who follows where it fails. Raises ConfigError where one cannot judge."""
    judge = config.llm.judge
    if judge is None:
        raise ConfigError("rubric and subjective need a judge; name a model in llm.judge")
    connections = Connections(config.llm, ledger=ledger, folder=folder)
    try:
        *others, last = (judge, *judge.fallback)
        return [*(connections.connect(author, is_last=False) for author in others), connections.connect(last)]
    except ConfigError as error:
        raise ConfigError(f"rubric and subjective need a judge, which llm.judge names: {error}") from error


def _one_line(error: Exception) -> str:
    return shortened(" ".join(str(error).split()), LONGEST_FAULT)
