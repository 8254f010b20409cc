"""Course: where an agent with a script stands in its conversation, and what it does next.

The agent keeps nothing between replies. Its own earlier replies are decided again from the conversation before them,
so that the past tells not only what was said but why. `Conduct` is where an agent departs from its script.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from evaluator.text.facts import tells_fact, value_forms
from rollout.offline.phrases import YES, Kind, label, listed, said
from rollout.offline.script import Heard, PastCall, PlannedCall, Reacted, Script, Transcript
from skillweave.schema.call import DECLINE, TRANSFER
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, FactToTell

ASKINGS = 3
"""How often a fact is asked for."""
PROPOSALS = 2
"""How often a call is proposed."""
MAKINGS = 4
"""How often a call is made again that was not carried out, or not in full."""


class NextCall(NamedTuple):
    """A call as it is really made."""

    tool: str
    arguments: dict[str, Json]


class Say(NamedTuple):
    """Words, in the agent's phrases: kind and slots of each."""

    phrases: tuple[tuple[Kind, dict[str, str]], ...]
    asks: tuple[str, ...] = ()
    """Ids of the facts that it asks for."""
    proposes: int | None = None
    """Position of the call that it proposes."""

    def words(self, random: Random) -> str:
        """One line for each phrase."""
        return "\n".join(said(kind, random, **slots) for kind, slots in self.phrases)


class Do(NamedTuple):
    """Calls."""

    positions: tuple[int, ...]
    """Of the script; empty where the call is none of it."""
    calls: tuple[NextCall, ...]


class AgentBehaviour:
    """How an agent follows its script: to the letter. Others override what they do otherwise."""

    proposes: bool = True
    """Whether it waits for a yes."""

    def call(
        self, position: int, planned: PlannedCall, bound: NextCall, results: Mapping[int, Json]
    ) -> NextCall | None:
        """What is called in a planned call's place; None: nothing is."""
        return bound

    def extra(self, results: Mapping[int, Json], made: int, succeeded: bool) -> NextCall | None:
        """A call beyond the script once that is through; `made` is how many there were, and whether the last one was
        carried out."""
        return None

    def asks_for(self, fact: Fact) -> bool:
        """Whether it asks for what the user has not said."""
        return True

    def waits(self, position: int) -> bool:
        """Whether it proposes that call before it makes it."""
        return self.proposes

    def shrugs(self, position: int) -> bool:
        """Whether it goes on as if the call had succeeded."""
        return False

    def gives_up(self, position: int) -> bool:
        """Whether it gives up before that call."""
        return False

    def value(self, told: FactToTell) -> Json:
        """What it says in the place of a fact's value; None: nothing."""
        return told.values[0]


class DialoguePolicy:
    def __init__(self, script: Script, conduct: AgentBehaviour) -> None:
        self.script = script
        self.conduct = conduct
        self.results: dict[int, Json] = {}
        """By position in the script."""
        self._position = 0
        self._done: list[int] = []
        """Writes that were carried out, or that count as such."""
        self._left: set[int] = set()
        """Writes that the user did not agree to."""
        self._complaint: str | None = None
        """Why it cannot go on."""
        self._heard: list[str] = []
        self._asked: Counter[str] = Counter()
        self._proposed: Counter[int] = Counter()
        self._makings: Counter[int] = Counter()
        self._agreed: set[int] = set()
        self._greeted = self._concluded = False
        self._extra = 0
        self._extra_done = False
        self._last: Say | None = None

    def follow(self, transcript: Transcript) -> "DialoguePolicy":
        """Take in the conversation so far."""
        for event in transcript.events:
            if isinstance(event, Heard):
                self._hear(event.text)
            else:
                self._took(self.decide(), event)
        return self

    def decide(self) -> Say | Do:
        """What to do now."""
        if self._complaint is not None:
            return Say((("give_up", {"complaint": self._complaint}),))
        if not self._greeted and self.script.opening not in " ".join(self._heard):
            return Say((("greet", {}),))
        return self._question(self.script.sign_in_facts()) or self._calls() or self._beyond() or self._conclusion()

    def _calls(self) -> Say | Do | None:
        """The next calls of the script, or what has to be said before them; None once all are made."""
        while self._position < len(self.script.calls):
            act = self._at(self._position)
            if act is not None:
                return act
            self._pass_over(self._position)
            self._position += 1
        return None

    def _at(self, position: int) -> Say | Do | None:
        """What the call at a position needs; None where it is to be left out."""
        planned = self.script.calls[position]
        if position in self.results or position in self._left:
            return None
        if planned.kind != "auth" and self.script.kind != "unavailable":
            question = self._question(self.script.other_facts())
            if question is not None:
                return question
        if self.conduct.gives_up(position):
            self._complaint = ""
            return self.decide()
        wanted = self._wanted(position)
        if wanted is None:
            return None
        # Nobody has asked for what a rule demands: it takes a yes, whatever the tool.
        is_to_agree = planned.kind == "write" and (planned.confirm or planned.demanded_by is not None)
        if is_to_agree and self.conduct.waits(position) and position not in self._agreed:
            return self._proposal(position, planned)
        return self._reads(position) if planned.is_read else Do((position,), (wanted,))

    def _pass_over(self, position: int) -> None:
        """Go on behind a call. A write that was left out by mistake is reported like the rest."""
        planned = self.script.calls[position]
        is_possible = planned.takes_from <= self.results.keys()
        if planned.kind == "write" and is_possible and position not in {*self.results, *self._left}:
            self._done.append(position)

    def _reads(self, position: int) -> Do:
        """This read with those behind it that wait for nothing."""
        positions: list[int] = []
        calls: list[NextCall] = []
        for at in range(position, len(self.script.calls)):
            planned = self.script.calls[at]
            if not planned.is_read or self.conduct.gives_up(at) or (positions and planned.takes_from):
                break
            wanted = None if at in self.results else self._wanted(at)
            if wanted is None:
                break
            positions.append(at)
            calls.append(wanted)
        return Do(tuple(positions), tuple(calls))

    def _wanted(self, position: int) -> NextCall | None:
        planned = self.script.calls[position]
        try:
            bound = NextCall(planned.tool, planned.bound(self.results))
        except LookupError:
            return None
        return self.conduct.call(position, planned, bound, self.results)

    def _question(self, facts: Sequence[Fact]) -> Say | None:
        """Asks for what of it the user has not said."""
        missing = [fact for fact in facts if self.conduct.asks_for(fact) and self._is_missing(fact)]
        if not missing:
            return None
        labels = listed(label(fact.id) for fact in missing)
        return Say((("ask", {"labels": labels}),), asks=tuple(fact.id for fact in missing))

    def _is_missing(self, fact: Fact) -> bool:
        is_sayable = isinstance(fact.value, str | int | float) and not isinstance(fact.value, bool)
        if self._asked[fact.id] >= (ASKINGS if is_sayable else 1):
            return False
        heard = self._heard
        return not any(tells_fact(fact, text, self.script.now, heard[:at]) for at, text in enumerate(heard))

    def _proposal(self, position: int, planned: PlannedCall) -> Say:
        pairs = self.script.pairs(planned, self.results)
        slots = {
            "deed": planned.deed,
            "pairs": listed(f"{label}: {_form(fact)}" for label, fact in pairs.items()),
        }
        because = {"goal": planned.goal, "rule": planned.demanded_by or "", "company": planned.company}
        before: tuple[tuple[Kind, dict[str, str]], ...] = (("because", because),) if all(because.values()) else ()
        return Say((*before, ("propose", slots)), proposes=position)

    def _beyond(self) -> Do | None:
        extra = self.conduct.extra(self.results, self._extra, self._extra_done)
        return Do((), (extra,)) if extra is not None else None

    def _conclusion(self) -> Say:
        """Report and tell, or decline; then take leave."""
        if self._concluded:
            return Say((("part", {}),))
        if self.script.kind == "refuse":
            rule = next((str(call.arguments["rule"]) for call in self.script.calls if call.tool == DECLINE), "")
            return Say((("decline", {"rule": rule, "says": self.script.rules.get(rule, rule)}),))
        deeds = [self.script.calls[position].deed for position in self._done]
        phrases: list[tuple[Kind, dict[str, str]]] = [("report", {"deeds": listed(deeds)})] if deeds else []
        for told in self.script.told:
            value = self.conduct.value(told)
            if value is not None:
                phrases.append(("fact", {"noun": told.noun, "form": value_forms(value, told.type, told.unit)[0]}))
        return Say(tuple(phrases or [("give_up", {"complaint": ""})]))

    def _hear(self, text: str) -> None:
        self._heard.append(text)
        last, self._last = self._last, None
        if last is not None and last.proposes is not None:
            if text.strip().casefold().startswith(YES.casefold()):
                self._agreed.add(last.proposes)
            elif self._proposed[last.proposes] >= PROPOSALS:
                self._left.add(last.proposes)

    def _took(self, act: Say | Do, reaction: Reacted) -> None:
        """What was decided then, with what came of it. Where calls stand in the place of words, nothing was said."""
        if isinstance(act, Do):
            self._made(act, reaction.calls)
        elif not reaction.calls:
            self._last = act
            kinds = {kind for kind, _ in act.phrases}
            self._greeted = self._greeted or "greet" in kinds
            self._concluded = self._concluded or bool(kinds & {"report", "fact", "decline"})
            self._asked.update(act.asks)
            if act.proposes is not None:
                self._proposed[act.proposes] += 1

    def _made(self, act: Do, calls: Sequence[PastCall]) -> None:
        if not act.positions:
            self._extra += 1
            self._extra_done = any(made.error is None for made in calls)
        for position, made in zip(act.positions, calls, strict=False):
            self._makings[position] += 1
            if made.is_to_be_repeated and self._makings[position] < MAKINGS:
                continue
            if made.error is not None and not self.conduct.shrugs(position):
                self._complaint = str(made.error.get("message") or made.error.get("code"))
                return
            self.results[position] = made.value
            if self.script.calls[position].kind == "write":
                self._done.append(position)


def _form(fact: Fact) -> str:
    """A fact's value as it is written."""
    unit = "cents" if fact.id.endswith("_cents") else None
    return value_forms(fact.value, None, unit)[0]


def hands_over(act: Say | Do) -> bool:
    """Whether the conversation ends with it."""
    return isinstance(act, Do) and any(call.tool == TRANSFER for call in act.calls)
