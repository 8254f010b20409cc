"""The judge: a model that answers all questions about a conversation in one call, and the queue that feeds it.

A judge that gives no usable answer is a fault of the judgement, kept and counted. An endpoint that is down, or a
spent budget, says nothing about a conversation: it ends the judging, and the next run continues from the cache.
The judge runs on an event loop in a thread of its own, while worker processes go on scoring.
"""

import asyncio
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal, get_args

from evaluator.judge.prompt import (
    JUDGE,
    MOST_POINTS,
    Judgement,
    JudgeQuestions,
    complaints_of,
    conversation,
    numbered,
    points,
    shortened,
    task_words,
    wording,
)
from evaluator.replay.trial import replayed_messages
from evaluator.scoring.score import reward_of
from evaluator.scoring.worker_pool import DatasetEvaluator, FinishedJob, finished_job
from skillweave.base.digest import digest_json
from skillweave.base.errors import AuthorError, ConfigError, ProviderError, StopError
from skillweave.config.sections import Config
from skillweave.llm.ask import ask
from skillweave.llm.backends.backend import Backend
from skillweave.llm.connections import Connections
from skillweave.llm.ledger import Ledger
from skillweave.llm.limits.rate_limit import SharedSemaphore
from skillweave.schema.record import Json
from skillweave.schema.result import Divergence, FailureRecord, Result, ResultError
from skillweave.schema.score import JudgedAnswer, JudgedCheck
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message, SpeakerUsage

JudgedName = Literal["rubric", "subjective"]
JUDGED: tuple[JudgedName, ...] = get_args(JudgedName)
"""Names of the checks that a judge makes."""
LONGEST_WHY = 1_000
LONGEST_FAULT = 400
_MOST_UNREACHED = 8
"""Conversations in a row without an answer after which the endpoint counts as down."""
_VERSION = 12
MOST_WAITING = 256
"""Most conversations that wait for their judgement."""


@dataclass(frozen=True)
class JudgeVerdict:
    """The judge's answers about a conversation."""

    rubric: JudgedCheck | None = None
    """None: not asked for, or no usable answer."""
    subjective: JudgedCheck | None = None
    """None: not asked for, or no usable answer."""
    fault: str | None = None
    """Why there is no answer, in one line; None where there is one or none was asked for."""


class Judge:
    """Judges conversations concurrently on one event loop."""

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
        self._gate = SharedSemaphore(config.llm.max_concurrency)
        self._unreached = 0

    @property
    def name(self) -> str:
        """`provider/model`."""
        return self._backend.name

    @property
    def version(self) -> str:
        """Digest of the prompt, the questions and the form of the answer."""
        own: list[Json] = [[*self._settings.rubric], [*self._settings.subjective], [*self.checks]]
        return digest_json([JUDGE.digest, [*wording()], *own])[:_VERSION]

    @property
    def usage(self) -> SpeakerUsage:
        """Tokens and cost so far; cached answers cost nothing."""
        total = self.ledger.total()
        cost = None if total.unpriced else total.cost_usd
        return SpeakerUsage(input_tokens=total.input_tokens, output_tokens=total.output_tokens, cost_usd=cost)

    def wanted(self, task: Task) -> tuple[JudgedName, ...]:
        """The checks to make for a task."""
        return tuple(
            name for name in JUDGED if name in self.checks or (name == "rubric" and name in task.criteria.reward_basis)
        )

    async def judge(self, task: Task, messages: Sequence[Message]) -> JudgeVerdict:
        """Judge a conversation.

        Raises:
            StopError: The budget is spent, or the run was stopped.
            ProviderError: The endpoint is down.
        """
        wanted = self.wanted(task)
        if not wanted:
            return JudgeVerdict()
        asked = JudgeQuestions(
            numbered("r", [*points(task), *self._settings.rubric] if "rubric" in wanted else []),
            numbered("s", self._settings.subjective if "subjective" in wanted else []),
        )
        if len(asked.rubric) > MOST_POINTS:
            return JudgeVerdict(fault=f"there are {len(asked.rubric)} points; at most {MOST_POINTS} are judged")
        try:
            async with self._gate:
                answer = await self._ask(task, messages, asked)
        except AuthorError as error:
            self._unreached = 0
            return JudgeVerdict(fault=_one_line(error))
        except StopError:
            raise
        except ProviderError as error:
            self._unreached += 1
            if self._unreached < _MOST_UNREACHED:
                return JudgeVerdict(fault=_one_line(error))
            raise ProviderError(f"the judge did not answer {self._unreached} times in a row; last: {error}") from error
        self._unreached = 0
        return self._judged(asked, answer)

    async def close(self) -> None:
        """Close connections and the cache."""
        for backend in (self._backend, *self._fallback):
            await backend.close()

    async def _ask(self, task: Task, messages: Sequence[Message], asked: JudgeQuestions) -> Judgement:
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

    def _judged(self, asked: JudgeQuestions, answer: Judgement) -> JudgeVerdict:
        met = {point.question: (float(point.met), point.why) for point in answer.rubric}
        rated = {rating.question: ((rating.rating - 1) / 4, rating.why) for rating in answer.subjective}
        return JudgeVerdict(self._check(asked.rubric, met), self._check(asked.subjective, rated))

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
    """The configured judge and its fallbacks. Raises ConfigError where one of them cannot judge."""
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


class JudgeQueue:
    """Adds judgements to results."""

    def __init__(self, judge: Judge, evaluator: DatasetEvaluator, loop: asyncio.AbstractEventLoop) -> None:
        self._judge = judge
        self._evaluator = evaluator
        self._loop = loop
        self.faults = 0
        """Number of conversations without a usable answer."""

    def added(self, results: Iterator[FinishedJob]) -> Iterator[FinishedJob]:
        """Yield results with their judgements, as these arrive. Raises StopError, ProviderError."""
        waiting: dict[Future[JudgeVerdict], tuple[FinishedJob, Task]] = {}
        for done in results:
            if done.is_error:
                yield done
                continue
            task = self._evaluator.tasks.tasks[done.job.place.task_id]
            work = self._judge.judge(task, self._messages(done))
            waiting[asyncio.run_coroutine_threadsafe(work, self._loop)] = done, task
            ended = wait(waiting, return_when=FIRST_COMPLETED).done if len(waiting) >= MOST_WAITING else ()
            for future in ended or [future for future in waiting if future.done()]:
                yield self._with(future.result(), *waiting.pop(future))
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield self._with(future.result(), *waiting.pop(future))

    def _messages(self, done: FinishedJob) -> list[Message]:
        """The conversation with replayed results: recorded results are no evidence."""
        return replayed_messages(self._evaluator.evaluator.trial(self._evaluator.recorded(done.job)))

    def _with(self, judged: JudgeVerdict, done: FinishedJob, task: Task) -> FinishedJob:
        self.faults += judged.fault is not None
        result = with_judgement(Result.model_validate_json(done.line), task, judged)
        # A judgement that failed is asked for again by the next run.
        digest = "" if judged.fault is not None else result.trajectory_digest
        return finished_job(done.job, result.model_copy(update={"trajectory_digest": digest}))


@contextmanager
def judge_queue(judge: Judge, evaluator: DatasetEvaluator) -> Iterator[JudgeQueue]:
    """A queue on an event loop of its own; the judge is closed on leaving."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="judge", daemon=True)
    thread.start()
    try:
        yield JudgeQueue(judge, evaluator, loop)
    finally:
        asyncio.run_coroutine_threadsafe(judge.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def with_judgement(result: Result, task: Task, judged: JudgeVerdict) -> Result:
    """A result with the judge's answers; a result with an error stays as it is."""
    if result.error is not None:
        return result
    checks = result.checks.model_copy(update={"rubric": judged.rubric, "subjective": judged.subjective})
    if "rubric" not in task.criteria.reward_basis:
        return result.model_copy(update={"checks": checks})
    if judged.rubric is None:
        error = ResultError(kind="judge", message=judged.fault or "the judge was not asked")
        none = {"passed": None, "reward": None, "failure": None}
        return result.model_copy(update={"checks": checks, "error": error, **none})
    reward = reward_of(task, checks)
    passed = None if reward is None else reward == 1
    failure = (result.failure or _unmet(judged.rubric)) if passed is False else None
    return result.model_copy(update={"checks": checks, "reward": reward, "passed": passed, "failure": failure})


def _unmet(rubric: JudgedCheck) -> FailureRecord | None:
    """The first point that was not met; None where all were met and another check failed."""
    for answer in rubric.answers:
        if answer.score < 1:
            place = Divergence(turn=None, message=None, call=None, expected=answer.question, got=answer.why)
            return FailureRecord(class_="other", first_divergence=place)
    return None
