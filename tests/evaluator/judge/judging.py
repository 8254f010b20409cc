"""A judge for tests: an endpoint on the loopback that speaks the real protocol, and what it answers."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluator.judge.judge import Judge, JudgeVerdict
from skillweave.config.sections import Config
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message
from tests.evaluator.tasks import a_task
from tests.llm.protocols import a_completion
from tests.llm.scripted import Act, ScriptedServer, reply

TALK = (Message(role="user", content="Cancel it, please."), Message(role="assistant", content="It is cancelled."))
SETTINGS = {"enable_rubric": True, "enable_subjective": True, "subjective": ["Is it polite?"]}


def a_config(url: str, *, evaluation: dict[str, Any] | None = None, **llm: Any) -> Config:
    judge = {"model": "openai/m", "base_url": f"{url}/v1"}
    return Config.model_validate(
        {
            "llm": {"judge": judge, "max_retries": 0, "timeout": 5.0, "cache": False, **llm},
            "evaluation": evaluation or SETTINGS,
        }
    )


def a_wish(basis: Sequence[str] = ("state",), **changes: Any) -> Task:
    scenario = {"goal": "You want to cancel it.", "reason": "", "facts": []}
    return a_task(**{"scenario": scenario, "criteria": {"state": [], "reward_basis": [*basis]}, **changes})


def verdict(*met: bool, ratings: Sequence[int] = (), why: str = "See 1.") -> str:
    """An answer to the questions r1, r2, ... and s1, s2, ..."""
    return json.dumps(
        {
            "rubric": [{"question": f"r{n}", "why": why, "met": yes} for n, yes in enumerate(met, 1)],
            "subjective": [{"question": f"s{n}", "why": why, "rating": found} for n, found in enumerate(ratings, 1)],
        }
    )


def says(text: str) -> Act:
    return reply(a_completion(text))


def judged(
    config: Config, *tasks: Task, messages: Sequence[Message] = TALK, cache: Path | None = None, **options: Any
) -> list[JudgeVerdict]:
    """What a judge says of a conversation about each of the tasks, all at once."""

    async def all_at_once() -> list[JudgeVerdict]:
        judge = Judge(config if cache is None else _keeping(config, cache), **options)
        try:
            return await asyncio.gather(*(judge.judge(task, messages) for task in tasks))
        finally:
            await judge.close()

    return asyncio.run(all_at_once())


def _keeping(config: Config, cache: Path) -> Config:
    return config.model_copy(update={"llm": config.llm.model_copy(update={"cache": str(cache)})})


def heard(server: ScriptedServer, request: int = 0) -> str:
    """The words of the user message of a request."""
    return str(server.heard[request].body["messages"][1]["content"])
