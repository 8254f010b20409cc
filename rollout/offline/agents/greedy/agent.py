"""The greedy agent, as a backend's answer."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import yaml

from rollout.offline.agents.greedy.acts import Act, Ask, Call, Greet, Outcome, Propose, Report, Which
from rollout.offline.agents.greedy.course import Course
from rollout.offline.agents.offered import Argument, Offered, offered, plain
from rollout.offline.agents.transcript import Reacted, transcript_of
from rollout.offline.agents.wording import ToolWords, label, listed, sentence, spoken
from skillweave.llm.request import Reply, Request
from skillweave.schema.message import FunctionCall, ToolCall
from skillweave.schema.record import Json

_YEAR = re.compile(r"Today is \w+, (\d{4})-")


def greedy(request: Request, seed: int) -> Reply:
    """The next reply, from the conversation and the tools alone."""
    return by_words(request, seed, model="greedy", confirms=True)


def by_words(request: Request, seed: int, *, model: str, confirms: bool) -> Reply:
    """The same; `confirms` is whether it heeds that a policy asks for a yes."""
    transcript = transcript_of(request)
    act = Course(offered(request.tools), transcript.system, confirms=confirms)
    turn = sum(isinstance(event, Reacted) for event in transcript.events)
    course = act.follow(transcript)
    decided = course.decide()
    year = _YEAR.search(transcript.system)
    speech = _Speech(Random(f"{seed}/{request.key}/{turn}/greedy"), int(year[1]) if year else None)
    if isinstance(decided, Call):
        call = ToolCall(
            id=f"call_{turn}", function=FunctionCall(name=decided.tool.name, arguments=dict(decided.arguments))
        )
        return Reply(text=speech.drawn("looking"), model=model, stop="tool_calls", tool_calls=(call,))
    return Reply(text=speech.words(decided, course), model=model)


class _Speech:
    def __init__(self, random: Random, year: int | None) -> None:
        self._random = random
        self._year = year

    def drawn(self, kind: str, **values: str) -> str:
        """A phrase of a kind."""
        return self._random.choice(_phrases()[kind]).format(**values)

    def words(self, act: Act, course: Course) -> str:
        """What is said with an act."""
        match act:
            case Greet():
                return self.drawn("greet")
            case Ask():
                return self.drawn("ask", wanted=listed([_asked(act.tool, argument) for argument in act.arguments]))
            case Which():
                return self.drawn("which", noun=label(act.argument))
            case Propose():
                return self.drawn("propose", doing=_tool(act.tool).doing, details=self._details(act))
            case Report():
                told = [self._outcome(outcome) for outcome in course.news]
                return " ".join([*filter(None, told or [self.drawn("lost")]), self.drawn("more")])
            case _:
                return self.drawn("close")

    def _details(self, act: Propose) -> str:
        shown = [
            f"{label(name)}: {self._spoken(value, name)}"
            for name, value in act.arguments.items()
            if not name.endswith("_id")
        ]
        return f" ({'; '.join(shown)})" if shown else ""

    def _outcome(self, outcome: Outcome) -> str:
        if outcome.tool:
            words = ToolWords(plain(outcome.tool))
            return sentence(self.drawn("done", done=words.done, passive=words.passive))
        if outcome.answer is not None:
            column, value, _ = outcome.answer
            return self.drawn("answer", noun=label(column), value=self._spoken(value, column))
        return self.drawn("failed", complaint=outcome.complaint.rstrip(".")) if outcome.complaint else ""

    def _spoken(self, value: Json, name: str) -> str:
        return spoken(value, name, year=self._year, random=self._random)


def _tool(tool: Offered) -> ToolWords:
    return ToolWords(tool.plain, [argument.name for argument in tool.arguments])


def _asked(tool: Offered, argument: Argument) -> str:
    if tool.signs_in:
        return f"your {label(argument.name)}"
    choices = listed([value.replace("_", " ") for value in argument.enum], "or")
    return f"the {label(argument.name)}{f' ({choices})' if choices else ''}"


@cache
def _phrases() -> Mapping[str, list[str]]:
    loaded: dict[str, Any] = yaml.safe_load(
        files("rollout.offline.agents.greedy").joinpath("phrases.yaml").read_text("utf-8")
    )
    return loaded
