"""Agents' messages as language models word them, each with what the user must make of it.

`messages/tuning` is what the user is improved on, `messages/held_out` what nobody looks at meanwhile. A file is one
role; a case of it is what the agent said `before`, what it says now (`agent`), which errands are `closed` afterwards,
what the user `does`, and which facts it `tells`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rollout.offline.user.user import listen
from rollout.user.role import Role
from tests.rollout.offline_user.chats import a_story, role

MESSAGES = Path(__file__).parent / "messages"
PARTS = ("tuning", "held_out")
KINDS = {
    "yes": {"yes"},
    "no": {"no", "no_thanks"},
    "rest": {"rest", "next", "want", "again", "nudge"},
    "why": {"why_not"},
    "stop": {"thanks"},
    "unknown": {"unknown", "no_preference", "no_id"},
}
"""The moves that are each deed; `tell` is looked up in the facts, and `stays` is any move but a yes or a farewell."""
FAREWELLS = {"thanks", "give_up"}
WORST = ("leaves early", "confirms what contradicts", "tells a secret")


@dataclass(frozen=True)
class Case:
    name: str
    role: Role
    before: tuple[str, ...]
    agent: str
    closed: frozenset[int]
    does: str
    tells: frozenset[str]

    def faults(self) -> list[str]:
        """What the user gets wrong; the worst first."""
        memory, moves = listen(self.role, [*self.before, self.agent])
        told_before = listen(self.role, self.before)[0].told
        kinds: set[str] = {move.kind for move in moves}
        told = {fact.id for move in moves for fact in move.facts}
        facts = self.role.scenario.facts
        known = {str(fact.value) for fact in facts if fact.tell == "first" or fact.id in told_before | self.tells}
        secret = {fact.id for fact in facts if fact.tell == "asked" and str(fact.value) not in known and fact.value}
        closed = {place for place, status in enumerate(memory.status) if status != "open"}
        if any(fact.value is None for move in moves for fact in move.facts):
            kinds.add("no_preference")
        wanted = KINDS.get(self.does, set())
        found = {
            "leaves early": bool(kinds & FAREWELLS) and self.does != "stop",
            "confirms what contradicts": "yes" in kinds and self.does == "no",
            "tells a secret": bool(told & secret),
            "never leaves": self.does == "stop" and not kinds & FAREWELLS,
            "confirms": "yes" in kinds and self.does not in ("yes", "no"),
            f"closes {sorted(closed)}, not {sorted(self.closed)}": closed != self.closed,
            f"does {sorted(kinds)}, not {self.does}": bool(wanted) and not kinds & wanted,
            f"tells {sorted(told)}, not {sorted(self.tells)}": not self.tells <= told,
        }
        return [fault for fault, is_so in found.items() if is_so]


def cases(part: str) -> Iterator[Case]:
    """The labelled messages of a part."""
    for path in sorted((MESSAGES / part).glob("*.yaml")):
        data: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        facts = [tuple(fact) for fact in data["facts"]]
        played = role(a_story(" ".join(data["goal"].split()), " ".join(data["opening"].split()), facts))
        for number, case in enumerate(data["cases"]):
            yield Case(
                f"{path.stem}-{number}",
                played,
                tuple(case.get("before", ())),
                case["agent"],
                frozenset(case.get("closed", ())),
                case["does"],
                frozenset(case.get("tells", ())),
            )
