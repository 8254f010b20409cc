"""The dialogue policy of scripted agents: from the conversation so far to what the agent does next.

The agent keeps nothing between replies. Its own earlier replies are decided again from the conversation before them,
so that the past tells not only what was said but why. `AgentBehaviour` is where an agent departs from its script.
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


class SayPhrases(NamedTuple):
    """Words, in the agent's phrases: kind and slots of each."""

    phrases: tuple[tuple[Kind, dict[str, str]], ...]
    asks: tuple[str, ...] = ()
    """Ids of the facts that it asks for."""
    proposes: int | None = None
    """Position of the call that it proposes."""

    def words(self, random: Random) -> str:
        """One line for each phrase."""
        return "\n".join(said(kind, random, **slots) for kind, slots in self.phrases)


class MakeCalls(NamedTuple):
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

    def ignores_error(self, position: int) -> bool:
        """Whether it goes on as if the call had succeeded."""
        return False

    def gives_up(self, position: int) -> bool:
        """Whether it gives up before that call."""
        return False

    def value(self, told: FactToTell) -> Json:
        """What it says in the place of a fact's value; None: nothing."""
        return told.values[0]


class DialogueState:
    """What the conversation so far comes to, as the agent sees it."""

    def __init__(self) -> None:
        self.position = 0
        """The script's call that comes next."""
        self.results: dict[int, Json] = {}
        """Results by position in the script."""
        self.carried_out: list[int] = []
        """Positions of the writes that were carried out, or that the agent takes for carried out."""
        self.refused: set[int] = set()
        """Positions of the writes that the user did not agree to."""
        self.agreed: set[int] = set()
        """Positions of the calls that the user agreed to."""
        self.complaint: str | None = None
        """Why the agent cannot go on; None while it can."""
        self.user_texts: list[str] = []
        self.has_greeted = self.has_concluded = False
        self.asked: Counter[str] = Counter()
        """How often each fact was asked for."""
        self.proposed: Counter[int] = Counter()
        """How often each call was proposed."""
        self.tries: Counter[int] = Counter()
        """How often each call was made."""
        self.extra_calls = 0
        """Calls beyond the script."""
        self.extra_succeeded = False
        """Whether the last of them was carried out."""
        self._last: SayPhrases | None = None

    def hear(self, text: str) -> None:
        """Take in a text of the user's; a yes agrees to what was proposed last."""
        self.user_texts.append(text)
        last, self._last = self._last, None
        if last is not None and last.proposes is not None:
            if text.strip().casefold().startswith(YES.casefold()):
                self.agreed.add(last.proposes)
            elif self.proposed[last.proposes] >= PROPOSALS:
                self.refused.add(last.proposes)

    def spoke(self, act: SayPhrases) -> None:
        """Take in words of the agent's own."""
        self._last = act
        kinds = {kind for kind, _ in act.phrases}
        self.has_greeted = self.has_greeted or "greet" in kinds
        self.has_concluded = self.has_concluded or bool(kinds & {"report", "fact", "decline"})
        self.asked.update(act.asks)
        if act.proposes is not None:
            self.proposed[act.proposes] += 1

    def has_said(self, fact: Fact, now: str) -> bool:
        """Whether the user has told a fact; `now` is the session's clock."""
        texts = self.user_texts
        return any(tells_fact(fact, text, now, texts[:at]) for at, text in enumerate(texts))


class DialoguePolicy:
    """Decides what an agent with a script does next."""

    def __init__(self, script: Script, behaviour: AgentBehaviour) -> None:
        self.script = script
        self.behaviour = behaviour
        self.state = DialogueState()

    def follow(self, transcript: Transcript) -> "DialoguePolicy":
        """Take in the conversation so far."""
        for event in transcript.events:
            if isinstance(event, Heard):
                self.state.hear(event.text)
            else:
                self._record(self.decide(), event)
        return self

    def decide(self) -> SayPhrases | MakeCalls:
        """What to do now."""
        state = self.state
        if state.complaint is not None:
            return SayPhrases((("give_up", {"complaint": state.complaint}),))
        if not state.has_greeted and self.script.opening not in " ".join(state.user_texts):
            return SayPhrases((("greet", {}),))
        return (
            self._question(self.script.sign_in_facts())
            or self._next_calls()
            or self._extra_call()
            or self._conclusion()
        )

    def _next_calls(self) -> SayPhrases | MakeCalls | None:
        """The next calls of the script, or what has to be said before them; None once all are made."""
        while self.state.position < len(self.script.calls):
            act = self._act_at(self.state.position)
            if act is not None:
                return act
            self._skip(self.state.position)
            self.state.position += 1
        return None

    def _act_at(self, position: int) -> SayPhrases | MakeCalls | None:
        """What the call at a position needs; None where it is to be left out."""
        planned, state = self.script.calls[position], self.state
        if position in state.results or position in state.refused:
            return None
        if planned.kind != "auth" and self.script.asks_before_acting:
            question = self._question(self.script.other_facts())
            if question is not None:
                return question
        if self.behaviour.gives_up(position):
            state.complaint = ""
            return self.decide()
        call = self._bound_call(position)
        if call is None:
            return None
        # Nobody has asked for what a rule demands: the user has to agree to it, whatever the tool.
        needs_agreement = planned.kind == "write" and (planned.confirm or planned.demanded_by is not None)
        if needs_agreement and self.behaviour.waits(position) and position not in state.agreed:
            return self._proposal(position, planned)
        return self._reads_from(position) if planned.is_read else MakeCalls((position,), (call,))

    def _skip(self, position: int) -> None:
        """Go on behind a call. A write that was left out by mistake is reported like the rest."""
        planned, state = self.script.calls[position], self.state
        is_possible = planned.takes_from <= state.results.keys()
        if planned.kind == "write" and is_possible and position not in {*state.results, *state.refused}:
            state.carried_out.append(position)

    def _reads_from(self, position: int) -> MakeCalls:
        """This read, with the reads behind it that wait for no result."""
        positions: list[int] = []
        calls: list[NextCall] = []
        for at in range(position, len(self.script.calls)):
            planned = self.script.calls[at]
            if not planned.is_read or self.behaviour.gives_up(at) or (positions and planned.takes_from):
                break
            call = None if at in self.state.results else self._bound_call(at)
            if call is None:
                break
            positions.append(at)
            calls.append(call)
        return MakeCalls(tuple(positions), tuple(calls))

    def _bound_call(self, position: int) -> NextCall | None:
        planned = self.script.calls[position]
        try:
            bound = NextCall(planned.tool, planned.bound(self.state.results))
        except LookupError:
            return None
        return self.behaviour.call(position, planned, bound, self.state.results)

    def _question(self, facts: Sequence[Fact]) -> SayPhrases | None:
        """A question for those of the facts that the user has not told; None where there are none."""
        missing = [fact for fact in facts if self.behaviour.asks_for(fact) and self._is_missing(fact)]
        if not missing:
            return None
        labels = listed(label(fact.id) for fact in missing)
        return SayPhrases((("ask", {"labels": labels}),), asks=tuple(fact.id for fact in missing))

    def _is_missing(self, fact: Fact) -> bool:
        can_be_said = isinstance(fact.value, str | int | float) and not isinstance(fact.value, bool)
        if self.state.asked[fact.id] >= (ASKINGS if can_be_said else 1):
            return False
        return not self.state.has_said(fact, self.script.now)

    def _proposal(self, position: int, planned: PlannedCall) -> SayPhrases:
        pairs = self.script.pairs(planned, self.state.results)
        slots = {
            "deed": planned.deed,
            "pairs": listed(f"{label}: {_form(fact)}" for label, fact in pairs.items()),
        }
        because = {"goal": planned.goal, "rule": planned.demanded_by or "", "company": planned.company}
        before: tuple[tuple[Kind, dict[str, str]], ...] = (("because", because),) if all(because.values()) else ()
        return SayPhrases((*before, ("propose", slots)), proposes=position)

    def _extra_call(self) -> MakeCalls | None:
        state = self.state
        extra = self.behaviour.extra(state.results, state.extra_calls, state.extra_succeeded)
        return MakeCalls((), (extra,)) if extra is not None else None

    def _conclusion(self) -> SayPhrases:
        """Report what was done and tell the facts, or decline; then say goodbye."""
        if self.state.has_concluded:
            return SayPhrases((("part", {}),))
        if self.script.declines:
            rule = next((str(call.arguments["rule"]) for call in self.script.calls if call.tool == DECLINE), "")
            return SayPhrases((("decline", {"rule": rule, "says": self.script.rules.get(rule, rule)}),))
        deeds = [self.script.calls[position].deed for position in self.state.carried_out]
        phrases: list[tuple[Kind, dict[str, str]]] = [("report", {"deeds": listed(deeds)})] if deeds else []
        for fact in self.script.told:
            value = self.behaviour.value(fact)
            if value is not None:
                phrases.append(("fact", {"noun": fact.noun, "form": value_forms(value, fact.type, fact.unit)[0]}))
        return SayPhrases(tuple(phrases or [("give_up", {"complaint": ""})]))

    def _record(self, act: SayPhrases | MakeCalls, reaction: Reacted) -> None:
        """Take in what was decided then and what came of it. Calls in the place of words: nothing was said."""
        if isinstance(act, MakeCalls):
            self._record_calls(act, reaction.calls)
        elif not reaction.calls:
            self.state.spoke(act)

    def _record_calls(self, act: MakeCalls, calls: Sequence[PastCall]) -> None:
        state = self.state
        if not act.positions:
            state.extra_calls += 1
            state.extra_succeeded = any(call.error is None for call in calls)
        for position, call in zip(act.positions, calls, strict=False):
            state.tries[position] += 1
            if call.is_to_be_repeated and state.tries[position] < MAKINGS:
                continue
            if call.error is not None and not self.behaviour.ignores_error(position):
                state.complaint = str(call.error.get("message") or call.error.get("code"))
                return
            state.results[position] = call.value
            if self.script.calls[position].kind == "write":
                state.carried_out.append(position)


def _form(fact: Fact) -> str:
    """A fact's value as it is written."""
    unit = "cents" if fact.id.endswith("_cents") else None
    return value_forms(fact.value, None, unit)[0]


def hands_over(act: SayPhrases | MakeCalls) -> bool:
    """Whether the conversation ends with it."""
    return isinstance(act, MakeCalls) and any(call.tool == TRANSFER for call in act.calls)
