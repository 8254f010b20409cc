"""The simulated user: its role, the record that it answers with, and the requests to its backend."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

from pydantic import Field

from evaluator.text.facts import UserKnowledge
from rollout.agent import added
from rollout.task import RolloutError
from skillweave.llm.backends.backend import Backend, Request, Sampling
from skillweave.llm.json_text import JsonTextError, candidates, decode
from skillweave.llm.parse import fenced_blocks
from skillweave.schema.record import Json, Record
from skillweave.schema.task import Persona, Scenario, Task
from skillweave.schema.trajectory import STOP, Message, Participant, SpeakerUsage, UserTurn
from skillweave.thoughts import split_thoughts
from skillweave.user_prompt import draw_style, draw_traits, user_prompt

FORM = """\
The form of your answers
Answer each message of the assistant with one JSON object and nothing else:
{"text": "...", "agrees": null, "wants_human": false, "later": false, "done": false}
- text: what you write to the assistant, in plain words. It reads nothing but this.
- agrees: true if you say yes to what the assistant proposed last, or to its last question that yes or no can answer;
  false if you say no to it; null if there was nothing to say yes or no to, or you said neither. Whether you want
  anything else is no such question: null.
- wants_human: true if you ask for a human with this message, or say yes to being handed over to one; else false.
- later: true if with this message you come out with what you want later, as your description has it, or say yes to
  it because you are offered it; else false.
- done: true if you leave with this message, else false."""
"""The form of the answers, for a model; it follows the description of the role."""

_TEXT_KEYS = ("text", "message", "content", "reply", "response", "answer")
_FLAGS = ("agrees", "wants_human", "later", "done")
_YES = frozenset({"true", "yes", "y", "1"})
_NO = frozenset({"false", "no", "n", "0"})
_FENCE = re.compile(r"^\s*`{3,}\w*\s*$", re.MULTILINE)
_TEXT = re.compile(rf"""["']?\b(?:{"|".join(_TEXT_KEYS)})["']?\s*:\s*(?P<quote>["'])""")
_END = r"""{quote}\s*(?:,\s*["']?(?:{flags})\b|,?\s*\}}|,?\s*\Z)"""
_ESCAPED = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\'": "'", r"\\": "\\"}


# A docstring of the class would become part of the schema that models are given.
class UserAnswer(Record):
    text: str
    """What the user says."""
    agrees: bool | None = Field(...)
    """Whether the user agrees to what the agent proposed or asked last; null if there was nothing to agree to."""
    wants_human: bool = Field(...)
    """Whether the user asks for a human."""
    later: bool | None = Field(...)
    """Whether the user comes out with their later wish; null if the answer does not say."""
    done: bool = Field(...)
    """Whether the user leaves with this answer."""

    @property
    def written(self) -> str:
        """The answer as the user's model writes it."""
        return self.model_dump_json()


SCHEMA: Mapping[str, Json] = UserAnswer.model_json_schema()
"""The schema of an answer, for endpoints with guided decoding."""


def plain(text: str) -> UserAnswer:
    """An answer that only has a text."""
    return UserAnswer(text=text, agrees=None, wants_human=False, later=False, done=False)


def read_answer(reply: str) -> UserAnswer:
    """Read a model's reply, in whatever form it is. The answer's text is empty if the reply has none."""
    text = split_thoughts(reply.removeprefix("\ufeff")).words.strip()
    fields = _fields(text) if text else {}
    words = split_thoughts(str(fields.get("text", text))).words.strip()
    return UserAnswer(
        text=words.replace(STOP, "").strip(),
        agrees=_flag(fields.get("agrees")),
        wants_human=_flag(fields.get("wants_human")) is True,
        later=_flag(fields.get("later")),
        done=_flag(fields.get("done")) is True or STOP in words,
    )


def _fields(text: str) -> dict[str, Json]:
    """The fields of the reply's JSON object, with its words under `text`; empty if there is no object."""
    for candidate in candidates(text, fenced_blocks(text)):
        try:
            value = decode(candidate)
        except JsonTextError:
            continue
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, str) and candidate == text:
            return {"text": value}
        if not isinstance(value, dict):
            continue
        key = next((key for key in _TEXT_KEYS if isinstance(value.get(key), str)), None)
        if key is not None:
            return {**value, "text": value[key]}
        if any(flag in value for flag in _FLAGS):
            return {**value, "text": _FENCE.sub("", text.replace(candidate, "")).strip()}
    return _salvaged(text)


def _salvaged(text: str) -> dict[str, Json]:
    """The fields that can be read from broken JSON: with unescaped quotes or line breaks, or cut off."""
    start = _TEXT.search(text)
    if start is None or "{" not in text[: start.start() + 1]:
        return {}
    end = re.compile(_END.format(quote=start["quote"], flags="|".join(_FLAGS))).search(text, start.end())
    words = text[start.end() : end.start() if end else len(text)]
    rest = text[: start.start()] + (text[end.start() :] if end else "")
    fields: dict[str, Json] = {"text": _unescaped(words)}
    for flag in _FLAGS:
        value = re.search(rf"""\b{flag}["']?\s*:\s*["']?(\w+)""", rest)
        fields |= {flag: value[1]} if value else {}
    return fields


def _unescaped(words: str) -> str:
    try:
        return str(json.loads(f'"{words}"', strict=False))
    except ValueError:
        return re.sub(r"\\.", lambda match: _ESCAPED.get(match[0], match[0]), words.rstrip("\\"))


def _flag(value: Json) -> bool | None:
    """The value as a boolean, also from a word for one; None if it is neither yes nor no."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    return True if word in _YES else False if word in _NO else None


TELLINGS = ("written", "greeting")
"""How a user begins: with the task's first message, or with a greeting and the request only when it is asked for."""
GREETINGS = (
    "Hello!",
    "Hi there.",
    "Good morning.",
    "Hello, is somebody there?",
    "Good day. I could use some help.",
    "Hi, can you help me with something?",
)
ORDER = (
    "You open with a greeting and say nothing of what you want. Once you are asked how you can be helped, you say all "
    "that you want."
)


@dataclass(frozen=True)
class UserRole:
    """Who the user is and what the user knows."""

    persona: Persona
    scenario: Scenario
    opening: str
    """The first message."""
    request: str
    """The user's request in their own words; it is the first message unless that is a greeting."""
    prompt: str
    """The instructions for a model that plays this user."""
    company: str
    """The company that the user writes to."""
    now: str
    """The clock, `YYYY-MM-DD HH:MM:SS`."""
    telling: str = "written"
    """One of TELLINGS."""


def role_of(task: Task, company: str, trial: int, random: Random) -> UserRole:
    """The role of a task's user.

    Args:
        task: The task.
        company: The company that the user writes to.
        trial: The number of the persona; 0 is the user exactly as the task has it.
        random: Draws style, patience, traits and greeting of the other personas.
    """
    request = task.messages[0].content or "" if task.messages else ""
    if trial == 0:
        return UserRole(task.persona, task.scenario, request, request, task.user_system_prompt, company, task.now)
    style, patience = draw_style(random)
    persona = task.persona.model_copy(
        update={"style": style, "patience": patience, "traits": draw_traits(style, random)}
    )
    telling = TELLINGS[trial % len(TELLINGS)]
    greets = telling == "greeting"
    return UserRole(
        persona=persona,
        scenario=task.scenario,
        opening=random.choice(GREETINGS) if greets else request,
        request=request,
        prompt=user_prompt(company, persona, task.scenario, task.now, ORDER if greets else ""),
        company=company,
        now=task.now,
        telling=telling,
    )


QUESTION = "rollout.user"
TRIES = 3
"""The most answers to one message of the agent, the first one included."""
NOT_SENT = "(Your last answer was not sent: "
AGAIN = NOT_SENT + "{faults}. Answer the assistant's message again, in the same form.)"
MAX_ECHOES = 2
"""Answers in a row that may repeat the agent's own words: two people may well say `Thank you!` to each other."""
ECHOED = "it repeats the assistant's own words, as the answers before it do"
INVENTED = "{token!r} is neither among what you know nor in what the assistant has said"


class User:
    """One user in one trajectory."""

    def __init__(
        self,
        role: UserRole,
        backend: Backend,
        ledger: UserKnowledge,
        *,
        key: str,
        sampling: Sampling,
        noted: Mapping[str, Json] = MappingProxyType({}),
    ) -> None:
        """Create a user.

        Args:
            role: Who the user is.
            backend: What plays the user.
            ledger: The facts that the user can know.
            key: The run's seed and the trajectory's id; a seeded user draws from it.
            sampling: Sampling of the requests.
            noted: What else was set that changes the answers, for the record.
        """
        self.role = role
        self.usage = SpeakerUsage(cost_usd=0.0)
        self.turns: list[UserTurn] = []
        """The record of each message of the user."""
        self.rejected: list[str] = []
        """The reason for each answer that was sent back."""
        self._answers: list[UserAnswer] = []
        self._echoes = 0
        """Number of the last answers in a row that repeat the agent's words."""
        self._backend = backend
        self._ledger = ledger
        self._key = key
        self._sampling = sampling
        self._noted = noted
        self._model = ""

    @property
    def participant(self) -> Participant:
        """The user's backend, model and sampling, for the record."""
        model = self._model or self._backend.name.partition("/")[2]
        sampling = {**self._sampling.settings(), **self._noted}
        return Participant(backend=self._backend.name, model=model, sampling=sampling)

    def open(self, place: int) -> Message:
        """Start a new conversation; the user's first message. `place` is its index in the conversation."""
        self.turns, self._answers, self._echoes = [], [], 0
        self._note(plain(self.role.opening), place, [])
        return Message(role="user", content=self.role.opening)

    async def reply(self, messages: Sequence[Message]) -> UserAnswer:
        """Ask for the user's answer. An answer that is empty or invents facts is sent back.

        Args:
            messages: The whole conversation; the answer follows it.

        Raises:
            RolloutError: No answer was usable.
            ProviderError: The backend gave no reply.
        """
        seen = seen_by_user(messages, self._answers)
        asked = [Message(role="system", content=f"{self.role.prompt}\n\n{FORM}"), *seen]
        heard = [message.content or "" for message in seen if message.role == "user"]
        faults: list[str] = []
        for attempt in range(TRIES):
            reply = await self._backend.complete(self._request(asked, attempt))
            self.usage = added(self.usage, reply)
            self._model = reply.model or self._model
            answer = read_answer(reply.text)
            faults = self._faults(answer, heard, asked[-1].content or "")
            if not faults:
                self._note(answer, len(messages), heard)
                return answer
            self.rejected.append("; ".join(faults))
            rejected = [Message(role="assistant", content=reply.text)] if reply.text.strip() else []
            asked = [*asked, *rejected, Message(role="user", content=AGAIN.format(faults="; ".join(faults)))]
        raise RolloutError("user", f"no usable answer in {TRIES}; the last: {'; '.join(faults)}")

    def _note(self, answer: UserAnswer, place: int, heard: Sequence[str]) -> None:
        earlier = [*(own.text for own in self._answers), *heard]
        self._echoes = self._echoes + 1 if _is_echo(answer, heard) else 0
        self._answers.append(answer)
        self.turns.append(
            UserTurn(
                message=place,
                agrees=answer.agrees,
                wants_human=answer.wants_human,
                done=answer.done,
                tells=self._ledger.tells(answer.text, earlier),
                later=answer.later if self.role.scenario.later else None,
            )
        )

    def _faults(self, answer: UserAnswer, heard: Sequence[str], asked: str) -> list[str]:
        if not answer.text and not answer.done:
            return ["its text is missing or empty"]
        is_complaint = asked.startswith(NOT_SENT) and _is_echo(answer, [asked])
        is_stuck = self._echoes >= MAX_ECHOES and not answer.done and _is_echo(answer, heard)
        if is_complaint or is_stuck:
            return [ECHOED]
        return [INVENTED.format(token=token) for token in self._ledger.faults(answer.text, heard)]

    def _request(self, messages: Sequence[Message], attempt: int) -> Request:
        return Request(
            messages=tuple(messages),
            schema=SCHEMA,
            sampling=self._sampling,
            question=QUESTION,
            key=self._key,
            attempt=attempt,
            variables={"role": self.role},
        )


def _is_echo(answer: UserAnswer, heard: Sequence[str]) -> bool:
    """Whether an answer is what the agent has just said, and nothing else."""
    return bool(heard) and answer.text.split() == heard[-1].split()


def seen_by_user(messages: Sequence[Message], answers: Sequence[UserAnswer]) -> list[Message]:
    """The conversation as the user's model sees it: the agent has the role `user`, the user the role `assistant`.

    The user sees the agent's words, also those beside calls, but no calls and no results. Consecutive messages of the
    agent become one message.

    Args:
        messages: The whole conversation.
        answers: The user's own answers so far, shown in their recorded form.
    """
    own = iter(answers)
    seen: list[Message] = []
    for message in messages:
        content = message.content or ""
        if message.role == "user":
            seen.append(Message(role="assistant", content=next(own, plain(content)).written))
        elif message.role == "assistant" and content.strip():
            before = f"{seen.pop().content}\n\n" if seen and seen[-1].role == "user" else ""
            seen.append(Message(role="user", content=before + content))
    return seen
