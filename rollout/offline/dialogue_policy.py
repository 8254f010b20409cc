"""The dialogue policy of scripted agents: it decides from the conversation so far what the agent does next.

The agent keeps no state between replies. The policy decides each earlier reply again from the conversation before it,
and so knows why the agent made it. An `AgentBehaviour` says where an agent departs from its script.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from evaluator.text.facts import tells_fact, value_forms
from rollout.offline.behaviour import AgentBehaviour, NextCall, is_shown, things_of
from rollout.offline.script import Heard, PastCall, PlannedCall, Reacted, Script, Transcript
from rollout.offline.user import YES, Kind, label, listed, said
from skillweave.schema.contract import DECLINE, SESSION_TOOLS, TRANSFER
from skillweave.schema.criteria import FactToTell
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, unit_of

ASKINGS = 3
"""The most times that the agent asks for a fact."""
PROPOSALS = 2
"""The most times that the agent proposes a call."""
MAKINGS = 4
"""The most times that the agent makes a call whose result says that it should be repeated."""


Phrases = tuple[tuple[Kind, dict[str, str]], ...]
"""Kind and slots of each."""


class SayPhrases(NamedTuple):
    """Say phrases, each given by its kind and slots."""

    phrases: Phrases
    asks: tuple[str, ...] = ()
    """Ids of the facts that the agent asks for."""
    proposes: int | None = None
    """Position of the call that the agent proposes; None if it proposes none."""
    awaits: int | None = None
    """Position of the call before which the agent lets the user speak; None if it waits for nothing."""

    def words(self, random: Random) -> str:
        """The text, one line for each phrase."""
        return "\n".join(said(kind, random, **slots) for kind, slots in self.phrases)


class MakeCalls(NamedTuple):
    """Make calls."""

    positions: tuple[int, ...]
    """Positions in the script; empty if the call is not in the script."""
    calls: tuple[NextCall, ...]


class DialogueState:
    """The state of the conversation, as the agent sees it."""

    def __init__(self, script: Script) -> None:
        self._unsettling = (*script.insists, *([script.later.says] if script.later else []))
        self.position = 0
        """Position of the script's next call."""
        self.results: dict[int, Json] = {}
        """Results by position in the script."""
        self.carried_out: list[int] = []
        """Positions of the writes that succeeded, or that the agent believes to have succeeded."""
        self.refused: set[int] = set()
        """Positions of the calls that the user did not agree to."""
        self.agreed: set[int] = set()
        """Positions of the calls that the user agreed to."""
        self.complaint: str | None = None
        """Why the agent cannot continue; None while it can."""
        self.user_texts: list[str] = []
        self.has_greeted = self.has_concluded = False
        self.awaited: set[int] = set()
        """Positions of the calls before which the agent let the user speak."""
        self.asked: Counter[str] = Counter()
        """Number of times that the agent asked for each fact."""
        self.proposed: Counter[int] = Counter()
        """Number of times that the agent proposed each call."""
        self.tries: Counter[int] = Counter()
        """Number of times that the agent made each call."""
        self.extra_calls = 0
        """Number of calls after the end of the script."""
        self.extra_succeeded = False
        """Whether the last of these calls succeeded."""
        self._last: SayPhrases | None = None

    def hear(self, text: str) -> None:
        """Take in a message of the user. A yes agrees to the last proposal; an argument or a later wish reopens what
        was concluded."""
        self.user_texts.append(text)
        self.has_concluded = self.has_concluded and not any(words in text for words in self._unsettling)
        last, self._last = self._last, None
        if last is not None and last.proposes is not None:
            if text.strip().casefold().startswith(YES.casefold()):
                self.agreed.add(last.proposes)
            elif self.proposed[last.proposes] >= PROPOSALS:
                self.refused.add(last.proposes)

    def spoke(self, act: SayPhrases) -> None:
        """Take in what the agent said itself."""
        self._last = act
        kinds = {kind for kind, _ in act.phrases}
        self.has_greeted = self.has_greeted or "greet" in kinds
        if act.awaits is not None:
            self.awaited.add(act.awaits)
        elif kinds & {"report", "fact", "decline"}:
            self.has_concluded = True
        self.asked.update(act.asks)
        if act.proposes is not None:
            self.proposed[act.proposes] += 1

    def has_said(self, fact: Fact, now: str) -> bool:
        """Whether the user has told a fact; `now` is the session's clock."""
        texts = self.user_texts
        return any(tells_fact(fact, text, now, texts[:at]) for at, text in enumerate(texts))


class DialoguePolicy:
    """Decides what an agent with a script does next. Each object is used for one reply."""

    def __init__(self, script: Script, behaviour: AgentBehaviour) -> None:
        self.script = script
        self.behaviour = behaviour
        self.state = DialogueState(script)

    def follow(self, transcript: Transcript) -> "DialoguePolicy":
        """Take in the conversation so far; returns this policy."""
        for event in transcript.events:
            if isinstance(event, Heard):
                self.state.hear(event.text)
            else:
                self._record(self.decide(), event)
        return self

    def decide(self) -> SayPhrases | MakeCalls:
        """Decide what the agent does now."""
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
        """The script's next calls, or the words that must come before them; None after the last call."""
        while self.state.position < len(self.script.calls):
            act = self._act_at(self.state.position)
            if act is not None:
                return act
            self._skip(self.state.position)
            self.state.position += 1
        return None

    def _act_at(self, position: int) -> SayPhrases | MakeCalls | None:
        """The call at a position, or the words that must come before it; None to leave the call out."""
        planned, state = self.script.calls[position], self.state
        if position in state.results or position in state.refused:
            return None
        if planned.kind != "auth" and self.script.asks_before_acting:
            question = self._question([fact for fact in self.script.other_facts() if not self._is_ahead(fact)])
            if question is not None:
                return question
        if self.behaviour.gives_up(position):
            state.complaint = ""
            return self.decide()
        call = self._bound_call(position)
        if call is None:
            return None
        awaited = self._awaited(position)
        if awaited is not None:
            return awaited
        # The user did not ask for a call that a rule demands, so the user must agree to it whatever the tool is.
        needs_agreement = planned.kind == "write" and (planned.confirm or planned.demanded_by is not None)
        if needs_agreement and self.behaviour.waits(position) and position not in state.agreed:
            return self._proposal(position, planned)
        return self._reads_from(position) if planned.is_read else MakeCalls((position,), (call,))

    def _is_ahead(self, fact: Fact) -> bool:
        """Whether a fact is about what only the later wish needs, and the user has not come out with it yet."""
        later, calls = self.script.later, self.script.calls
        if later is None or later.says in " ".join(self.state.user_texts):
            return False
        of_later, at_once = (
            {*things_of(call for call in calls if call.is_for_later == is_later)} for is_later in (True, False)
        )
        return fact.id.rpartition(".")[0].rstrip("_0123456789").replace("_", "") in of_later - at_once

    def _awaited(self, position: int) -> SayPhrases | None:
        """What the agent says before a call, or at the end, so that the user comes out with the later wish; None if
        there is nothing to wait for. What was asked before it is settled where something is done, or where a write
        comes and there is something to tell or decline."""
        state, later, calls = self.state, self.script.later, self.script.calls
        if later is None or position in state.awaited or later.says in " ".join(state.user_texts):
            return None
        is_end = position == len(calls)
        acts = is_end or calls[position].kind == "write" or calls[position].tool in SESSION_TOOLS
        phrases: Phrases = ()
        is_time = is_end or (calls[position].is_for_later and (acts or bool(state.carried_out)))
        if later.when == "after_report" and is_time:
            known = [fact for fact in self.script.told if not fact.asked_later and is_shown(fact, state.results)]
            recorded = [at for at, call in enumerate(calls) if call.tool == DECLINE]
            declines = any(at < position or not calls[at].is_for_later for at in recorded)
            phrases = self._findings(known[:-1] if is_end else known, declines=declines)
        elif later.when == "second_message" and acts and not state.awaited:
            phrases = (("more", {}),)
        return SayPhrases(phrases, awaits=position) if phrases else None

    def _skip(self, position: int) -> None:
        """Pass over a call. A write that the agent leaves out by mistake is reported like the others."""
        planned, state = self.script.calls[position], self.state
        is_possible = planned.takes_from <= state.results.keys()
        if planned.kind == "write" and is_possible and position not in {*state.results, *state.refused}:
            state.carried_out.append(position)

    def _reads_from(self, position: int) -> MakeCalls:
        """This read, together with the following reads that need no result."""
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
        """A question for the facts that the user has not told; None if none is missing."""
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
        before: Phrases = (("because", because),) if all(because.values()) else ()
        return SayPhrases((*before, ("propose", slots)), proposes=position)

    def _extra_call(self) -> MakeCalls | None:
        state = self.state
        extra = self.behaviour.extra(state.results, state.extra_calls, state.extra_succeeded)
        return MakeCalls((), (extra,)) if extra is not None else None

    def _conclusion(self) -> SayPhrases:
        """Decline, report what was done, and tell the facts. After that, say goodbye."""
        if self.state.has_concluded:
            return SayPhrases((("part", {}),))
        awaited = self._awaited(len(self.script.calls))
        if awaited is not None:
            return awaited
        phrases = self._findings(self.script.told, declines=self.script.declines)
        return SayPhrases(phrases or (("give_up", {"complaint": ""}),))

    def _findings(self, facts: Sequence[FactToTell], *, declines: bool) -> Phrases:
        """What the agent declines, has done, and has found."""
        phrases: list[tuple[Kind, dict[str, str]]] = []
        if declines:
            rule = next((str(call.arguments["rule"]) for call in self.script.calls if call.tool == DECLINE), "")
            phrases.append(("decline", {"rule": rule, "says": self.script.rules.get(rule, rule)}))
        deeds = [self.script.calls[position].deed for position in self.state.carried_out]
        if deeds:
            phrases.append(("report", {"deeds": listed(deeds)}))
        for fact in facts:
            value = self.behaviour.value(fact)
            if value is not None:
                phrases.append(("fact", {"noun": fact.noun, "form": value_forms(value, fact.type, fact.unit)[0]}))
        return tuple(phrases)

    def _record(self, act: SayPhrases | MakeCalls, reaction: Reacted) -> None:
        """Take in an earlier decision and the agent's actual reply. If it made calls instead, it said nothing."""
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
    """A fact's value as text."""
    return value_forms(fact.value, None, unit_of(fact.id))[0]


def hands_over(act: SayPhrases | MakeCalls) -> bool:
    """Whether the agent transfers the user, which ends the conversation."""
    return isinstance(act, MakeCalls) and any(call.tool == TRANSFER for call in act.calls)
