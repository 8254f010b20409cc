"""Scripted agents: backends that play the agent without a model. They range from `nothing` to `oracle`."""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from random import Random
from typing import Any

from rollout.offline.behaviour import AgentBehaviour
from rollout.offline.careless import Careless, column_of, mistake_of
from rollout.offline.dialogue_policy import DialoguePolicy, MakeCalls, hands_over
from rollout.offline.script import Script, Transcript, scripts_of, transcript_of
from rollout.offline.user import said
from skillweave.base.errors import ConfigError
from skillweave.llm.backends.backend import Backend, OfflineBackend, Reply, Request
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, ToolCall
from skillweave.world.dataset import Dataset

STEPS = (3, 9)
"""Fewest and most replies of `random` before it says that it is done."""
SPEAKS = 0.25
"""Probability that `random` speaks instead of making calls."""
OPTIONAL = 0.3
"""Probability that it fills in an optional argument."""
BORROWS = 0.7
"""Probability that it takes a value from an earlier result, if one has a column of the parameter's name."""
TODAY = "Today is "
"""What stands before the date in the system prompt."""
_WORDS = (
    "Thank you for your message.",
    "I hear you, and thank you for your patience.",
    "I understand. Thank you for getting in touch.",
    "That is good to know, thank you.",
    "I see. How kind of you to write.",
    "Thank you, I have taken note of that.",
)


def nothing(request: Request, seed: int) -> Reply:
    """Reply with polite words and do nothing."""
    return Reply(text=Random(f"{seed}/{request.key}/{len(request.messages)}/nothing").choice(_WORDS), model="nothing")


def chance(request: Request, seed: int) -> Reply:
    """Reply with random calls, or with words."""
    transcript = transcript_of(request)
    turn = transcript.turn
    random = Random(f"{seed}/{request.key}/{turn}/random")
    tools = [function for tool in request.tools if isinstance(function := tool.get("function"), dict)]
    if not tools or turn >= Random(f"{seed}/{request.key}/steps").randint(*STEPS):
        return Reply(text=said("report", random, deeds="what you asked for"), model="random")
    if random.random() < SPEAKS:
        names = [name for tool in tools for name in _properties(tool)] or ["name"]
        return Reply(text=said("ask", random, labels=random.choice(names).replace("_", " ")), model="random")
    calls = tuple(
        ToolCall(
            id=f"call_{turn}_{at}",
            function=FunctionCall(name=str(tool.get("name")), arguments=_filled(tool, transcript, random)),
        )
        for at, tool in enumerate(random.choices(tools, k=random.choice((1, 1, 1, 2))))
    )
    return Reply(text="", model="random", stop="tool_calls", tool_calls=calls)


def _properties(tool: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The parameters of a tool's definition, by name."""
    parameters = tool.get("parameters") or {}
    return {name: given for name, given in (parameters.get("properties") or {}).items() if isinstance(given, dict)}


def _filled(tool: Mapping[str, Any], transcript: Transcript, random: Random) -> dict[str, Json]:
    required = (tool.get("parameters") or {}).get("required") or []
    return {
        name: _value(name, given, transcript, random)
        for name, given in _properties(tool).items()
        if name in required or random.random() < OPTIONAL
    }


def _value(name: str, given: Mapping[str, Any], transcript: Transcript, random: Random) -> Json:
    """A random value of the right type."""
    allowed: list[Json] = [value for value in given.get("enum") or [] if value is not None]
    if allowed:
        return random.choice(allowed)
    seen = [value for call in transcript.made for value in column_of(call.value, name)]
    if seen and random.random() < BORROWS:
        return random.choice(seen)
    types = given.get("type")
    of_type: dict[str, Json] = {"boolean": random.random() < 0.5, "array": [], "object": {}}
    of_type |= dict.fromkeys(("integer", "number"), random.randint(1, 100))
    type = next((name for name in (types if isinstance(types, list) else [types]) if name != "null"), "string")
    if type in of_type:
        return of_type[type]
    return random.choice(list(_texts(str(given.get("description")), transcript, random)))


def _texts(description: str, transcript: Transcript, random: Random) -> Iterator[Json]:
    """Texts that could fit a parameter with that description."""
    if "YYYY-MM-DD" in description:
        _, _, behind = transcript.system.partition(TODAY)
        day = behind.partition(", ")[2][: len("2025-01-24")] or "2025-01-01"
        yield f"{day} {random.randint(8, 18):02}:00:00" if "HH:MM" in description else day
        return
    yield "unknown"
    yield from (word.strip(".,!?") for word in " ".join(transcript.heard).split())


OFFLINE_AGENTS: tuple[str, ...] = ("oracle", "careless", "policy_blind", "random", "nothing")


def offline_agent(name: str, dataset: Dataset, seed: int) -> Backend:
    """Create the backend of a scripted agent.

    Args:
        name: One of `OFFLINE_AGENTS`.
        dataset: The tasks, whose golden calls some agents follow.
        seed: Draws words, mistakes and random calls.

    Raises:
        ConfigError: There is no agent of that name.
    """
    if name in _FREE:
        free = _FREE[name]
        return OfflineBackend(lambda request: free(request, seed), name)
    if name not in _SCRIPTED:
        near = get_close_matches(name, OFFLINE_AGENTS, n=1, cutoff=0.0)[0]
        raise ConfigError(f"no offline agent {name!r}; there are {', '.join(OFFLINE_AGENTS)}. Did you mean {near!r}?")
    scripted, scripts = _SCRIPTED[name], scripts_of(dataset)
    return OfflineBackend(lambda request: scripted(request, scripts(request.key.rpartition("#")[0]), seed), name)


class PolicyBlind(AgentBehaviour):
    """Ignores every rule that the tools do not enforce, and so asks for no confirmation."""

    proposes = False


def oracle(request: Request, script: Script, seed: int) -> Reply:
    """Follow the golden calls, in conversation."""
    return _scripted(request, script, AgentBehaviour(), seed, "oracle")


def careless(request: Request, script: Script, seed: int) -> Reply:
    """Act like the oracle, but with a mistake in some conversations."""
    mistake = mistake_of(seed, request.key, script.kind, declines=script.declines)
    behaviour = Careless(script, mistake, f"{seed}/{request.key}/careless")
    return _scripted(request, behaviour.followed, behaviour, seed, "careless")


def policy_blind(request: Request, script: Script, seed: int) -> Reply:
    """Act like the oracle, but do what only the policy forbids, and leave out what only a bridge rule demands."""
    followed = script.without_policy() if script.declines else script.undemanded()
    return _scripted(request, followed, PolicyBlind(), seed, "policy_blind")


def _scripted(request: Request, script: Script, behaviour: AgentBehaviour, seed: int, model: str) -> Reply:
    transcript = transcript_of(request)
    act = DialoguePolicy(script, behaviour).follow(transcript).decide()
    turn = transcript.turn
    random = Random(f"{seed}/{request.key}/{turn}/words")
    if not isinstance(act, MakeCalls):
        return Reply(text=act.words(random), model=model)
    calls = tuple(
        ToolCall(id=f"call_{turn}_{at}", function=FunctionCall(name=call.tool, arguments=dict(call.arguments)))
        for at, call in enumerate(act.calls)
    )
    words = said("hand_over", random) if hands_over(act) else ""
    return Reply(text=words, model=model, stop="tool_calls", tool_calls=calls)


_SCRIPTED: dict[str, Callable[[Request, Script, int], Reply]] = {
    "oracle": oracle,
    "careless": careless,
    "policy_blind": policy_blind,
}
_FREE: dict[str, Callable[[Request, int], Reply]] = {"random": chance, "nothing": nothing}
