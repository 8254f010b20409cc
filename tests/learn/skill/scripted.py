"""A scripted agent whose skill decides what it gets right, and a scripted optimizer that proposes good and bad edits.

The agent knows the golden calls, and does a task right only if its skill holds the rule of the task's kind: `RULES`. If
the skill holds the rule that it must not call tools, it does nothing at all: `HARMFUL`.

The optimizer reads the kinds of the conversations that it is shown. After failures it proposes the rule of one of them;
after an even number of successes it proposes harm, and an edit that hits nothing.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from rollout.offline.agents import offline_agent
from rollout.trajectory import SKILL_HEADING
from skillweave.config.sections import Config
from skillweave.llm.backends.backend import Backend, Reply, Request
from skillweave.llm.models import AuthorSpec
from skillweave.world.dataset import Dataset

RULES = {
    "do": "Make the change with the tool, then say that it is done.",
    "inform": "Look the figure up and say it in full.",
    "refuse": "Record what a rule forbids with decline_request.",
    "clarify": "Ask for what is missing before you act.",
    "unavailable": "Hand over what no tool can do.",
}
HARMFUL = "Never call a tool; be polite instead."
_TYPE = re.compile(r"^Type: (\w+)$", re.MULTILINE)


class SkilledAgent:
    """`rollout.parts.backend`: an agent that does what its skill tells it."""

    name = "scripted/skilled"

    def __init__(self, config: Config) -> None:
        self._dataset = Dataset(Path(config.outputs_dir))
        self._able: Backend = offline_agent("oracle", self._dataset, config.seed)
        self._unable: Backend = offline_agent("nothing", self._dataset, config.seed)

    async def complete(self, request: Request) -> Reply:
        """Do the task if the skill has its rule."""
        _, _, skill = (request.messages[0].content or "").partition(SKILL_HEADING)
        kind = self._dataset.tasks[request.key.rpartition("#")[0]].kind
        knows = RULES[kind] in skill and HARMFUL not in skill
        return await (self._able if knows else self._unable).complete(request)

    async def close(self) -> None:
        """Close the dataset."""
        self._dataset.close()


class ScriptedOptimizer:
    """A backend of one's own that plays the optimizer. `asked` counts the questions of this process."""

    asked: ClassVar[list[str]] = []

    def __init__(self, spec: AuthorSpec) -> None:
        self.name = spec.name

    async def complete(self, request: Request) -> Reply:
        """Answer a question of the optimizer."""
        type(self).asked.append(request.question)
        return Reply(text=json.dumps(_answer(request.question, request.variables)), model="scripted")

    async def close(self) -> None:
        """Do nothing; there is nothing to release."""


def _answer(question: str, variables: Mapping[str, object]) -> dict[str, object]:
    if question == "skill.reflect":
        return _reflection(str(variables["source"]), [str(text) for text in list(variables["trajectories"])])  # type: ignore[call-overload]
    if question == "skill.rank":
        return {"selected_indices": list(range(int(str(variables["budget"]))))}
    if question == "skill.slow_update":
        return {"reasoning": "", "slow_update_content": "Read the policy first."}
    if question == "skill.meta_skill":
        return {"reasoning": "", "meta_skill_content": "Rules for kinds of tasks help."}
    if question == "skill.merge":
        return {"edits": _joined([str(patch) for patch in list(variables["patches"])])}  # type: ignore[call-overload]
    raise AssertionError(f"unexpected question {question}")


def _reflection(source: str, conversations: list[str]) -> dict[str, object]:
    kinds = sorted({kind for text in conversations for kind in _TYPE.findall(text)})
    edits: list[dict[str, str]] = []
    if source == "failure":
        edits = [{"op": "append", "content": f"- {RULES[kind]}"} for kind in kinds[:1]]
    elif len(conversations) % 2 == 0:
        edits = [{"op": "append", "content": f"- {HARMFUL}"}, {"op": "delete", "target": "what stands nowhere"}]
    return {"batch_size": len(conversations), "failure_summary": [], "reasoning": "", "edits": edits}


def _joined(patches: list[str]) -> list[dict[str, object]]:
    """All edits once, in order."""
    edits = {line: json.loads(line) for patch in patches for line in patch.splitlines()}
    return list(edits.values())
