"""Errors of the simulated user, so that blame is not mixed: what it said that it cannot know, or should not have said.

The user knows its scenario, its persona, its prompt, whom it writes to, and what was said before. A first message that
is not the task's own was rendered from the scenario, and is judged like the rest. To leave early is no error.
"""

from collections import OrderedDict
from collections.abc import Sequence

from evaluator.ledger import Background, FactLedger
from evaluator.ledger.ledger import Fault, FaultKind
from evaluator.ledger.names import names_of
from evaluator.trial import Trial
from skillweave.schema.message import Message
from skillweave.schema.score import UserCheck, UserFault
from skillweave.schema.task import Task
from skillweave.world.world import World

KEPT = 4096
"""Backgrounds that are kept."""
LONGEST = 100_000
"""Characters of a conversation that are read; what comes behind them is not judged."""
IN_WORDS: dict[FaultKind, str] = {
    "invented": "{words!r} is nothing that the user knows or was told",
    "contradicts": "{words!r} is not what the user knows of the {fact}",
    "withheld": "{words!r} is something that the user keeps to itself",
}
_held: OrderedDict[tuple[str, str], tuple[Task, Background]] = OrderedDict()


def check_user(trial: Trial) -> UserCheck:
    """What the user said that it cannot know, or that contradicts its scenario."""
    own = {message.content for message in trial.task.messages}
    ledger = FactLedger(_background(trial.task, trial.world))
    faults = [
        UserFault(message=place, fault=IN_WORDS[fault.kind].format(words=fault.words, fact=fault.fact))
        for place, fault in _faults(ledger, trial.messages, own)
    ]
    return UserCheck(score=float(not faults), faults=faults)


def _faults(ledger: FactLedger, messages: Sequence[Message], own: set[str | None]) -> list[tuple[int, Fault]]:
    found: list[tuple[int, Fault]] = []
    heard: list[str] = []
    read = 0
    for place, message in enumerate(messages):
        words = message.content or ""
        if message.role not in ("user", "assistant") or not words.strip():
            continue
        read += len(words)
        if read > LONGEST:
            break
        if message.role == "assistant":
            heard.append(words)
            continue
        if heard:
            ledger.hear("\n\n".join(heard))
            heard = []
        if words not in own:
            found += [(place, fault) for fault in ledger.judge(words)]
        ledger.say(words)
    return found


def _background(task: Task, world: World) -> Background:
    """What the task's user knows; those of the last tasks are kept."""
    key = (world.digest, task.id)
    held = _held.get(key)
    if held is None or held[0] is not task:
        texts = [task.user_system_prompt, world.blueprint.title, *(message.content or "" for message in task.messages)]
        names = names_of(world)
        held = _held[key] = (task, Background(task.scenario, task.persona, task.now, texts=texts, names=names))
    _held.move_to_end(key)
    if len(_held) > KEPT:
        _held.popitem(last=False)
    return held[1]
