"""An agent's conduct, and what is wrong with it: declines, transfers, what the user was not asked for or has not asked
for yet.

What the agent did and recorded decides; its words are not interpreted. Each kind of task says which of these faults
count for it. A fault is one line of text that names the call, counted from 0.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evaluator.replay.execution import ExecutedCall
from evaluator.text.facts import is_told, tells_fact, words_of
from skillweave.schema.contract import DECLINE, SESSION_TOOLS, TRANSFER
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, Task
from skillweave.schema.trajectory import Message, UserTurn
from skillweave.world.compare import normalise


class RecordedDecline(NamedTuple):
    """A request that the agent recorded as declined."""

    call: ExecutedCall
    rule: str


class AgentConduct(NamedTuple):
    """What an agent did in a session, and in which conversation."""

    task: Task
    calls: Sequence[ExecutedCall]
    messages: Sequence[Message] | None
    """The conversation. None: not known; then no fault is found that only the conversation could show."""
    turns: Sequence[UserTurn]
    """One for each message of the user."""
    has_user_records: bool
    """Whether the user recorded its turns; without records nobody knows whether it agreed."""

    def is_before_request(self, call: ExecutedCall) -> bool:
        """Whether a call was made before the user's first message."""
        if self.messages is None:
            return False
        request = self._request(self.messages)
        return request is None or 0 <= call.message < request

    def is_before_later_wish(self, call: ExecutedCall) -> bool:
        """Whether a call was made before the user came out with their later wish.

        They did so in the first message that they recorded as such, that has it word for word, or with which they told
        or agreed to a fact that nothing else tells. If there is none, perhaps in words that nothing shows: then the
        first message counts that is not the task's own, no answer to a proposal or to a question for details, and no
        farewell.
        """
        if self.messages is None:
            return False
        heard = self._later_wish(self.messages)
        return heard is None or 0 <= call.message < heard

    def _later_wish(self, messages: Sequence[Message]) -> int | None:
        """Position of the message with the later wish; None if there is none."""
        recorded = next((turn.message for turn in self.turns if turn.later), None)
        # A word such as `work` may be said of anything; what the user recorded is surer.
        facts = [fact for fact in facts_of_later_wish(self.task) if recorded is None or _is_telling(fact)]
        heard = [
            place for place in (recorded, self._wish_word_for_word(), *map(self.settled_at, facts)) if place is not None
        ]
        might = (turn.message for turn in self.turns if self._may_be_later_wish(turn, messages))
        return min(heard) if heard else next(might, None)

    def _wish_word_for_word(self) -> int | None:
        """Position of the first message with the later wish as their description has it; None if there is none."""
        later, messages = self.task.scenario.later, self.messages or ()
        wish = " ".join(later.says.split()) if later else None
        said = ((turn.message, " ".join((messages[turn.message].content or "").split())) for turn in self.turns)
        return next((place for place, text in said if wish and wish in text), None)

    def _may_be_later_wish(self, turn: UserTurn, messages: Sequence[Message]) -> bool:
        task, own = self.task, [message.content for message in self.task.messages]
        is_answer = turn.agrees is not None or turn.done or messages[turn.message].content in own
        if turn is self.turns[0]:
            # Whoever began in words of their own may have said it all; users of this project record it.
            return not is_answer and turn.later is None
        said = messages[turn.message].content or ""
        facts = [fact for fact in task.scenario.facts if fact.tell == "asked"]
        # What is not wanted has no value that could be found: its own words are an answer, too.
        return not is_answer and not any(
            fact.text in said or is_told(fact, messages, turn.message, task.now) for fact in facts
        )

    def settled_at(self, fact: Fact) -> int | None:
        """Position of the first message with which the user told a fact, or agreed to words that hold it."""
        before, messages = -1, self.messages or ()
        for turn in self.turns:
            proposed = [one.content or "" for one in messages[before + 1 : turn.message] if one.role == "assistant"]
            is_agreed = turn.agrees and tells_fact(fact, "\n".join(proposed), self.task.now)
            if is_agreed or is_told(fact, messages, turn.message, self.task.now):
                return turn.message
            before = turn.message
        return None

    def tells_user_of(self, decline: ExecutedCall) -> bool:
        """Whether the agent said anything to the user after the last look-up that preceded a decline."""
        if self.messages is None:
            return True
        request = self._request(self.messages)
        start = len(self.messages) if request is None else request
        earlier = [call for call in self.calls if call.position < decline.position and call.tool not in SESSION_TOOLS]
        lookups = [call.message for call in earlier if not any(call.result.changed)]
        later = self.messages[max([start, *lookups]) + 1 :]
        return any(message.role == "assistant" and words_of(message.content or "") for message in later)

    @staticmethod
    def _request(messages: Sequence[Message]) -> int | None:
        """Position of the user's first message."""
        return next((place for place, message in enumerate(messages) if message.role == "user"), None)


def recorded_declines(calls: Sequence[ExecutedCall]) -> list[RecordedDecline]:
    """Declines in order: by `decline_request`, or by a transfer because of the policy."""
    rules = ((call, _declining_rule(call)) for call in calls if call.ok)
    return [RecordedDecline(call, rule) for call, rule in rules if rule is not None]


def transfer_call(calls: Sequence[ExecutedCall]) -> ExecutedCall | None:
    """The call that transferred the conversation to a human; None where none did."""
    return next((call for call in calls if call.ok and call.tool == TRANSFER), None)


def decline_faults(conduct: AgentConduct) -> Iterator[str]:
    """What is wrong with the recorded declines: too many, none, another rule, too early, or without a word."""
    demanded, declines = conduct.task.criteria.declined, recorded_declines(conduct.calls)
    if demanded is None:
        for call, rule in declines:
            yield f"recorded {rule} in {named(call)}, where nothing is to be declined"
        return
    if not declines:
        yield f"nothing is recorded as declined; {demanded.rule} decides it"
    is_later = conduct.task.criteria.is_declined_later
    for call, rule in declines:
        if rule not in demanded.accepted:
            yield f"recorded {rule} in {named(call)}; {demanded.rule} decides it"
        elif conduct.is_before_request(call) or (is_later and conduct.is_before_later_wish(call)):
            yield f"recorded {rule} in {named(call)}, before the request was heard"
    if declines and not conduct.is_before_request(declines[-1].call) and not conduct.tells_user_of(declines[-1].call):
        yield "the user was told nothing of it"


def transfer_faults(conduct: AgentConduct) -> Iterator[str]:
    """What is wrong with the transfer of a request that no offered tool serves."""
    call = transfer_call(conduct.calls)
    if call is None:
        yield "not handed over"
    elif conduct.is_before_request(call):
        yield f"handed over in {named(call)}, before the request was heard"
    else:
        reason = call.arguments.get("reason")
        is_wanted = any(
            turn.wants_human and (turn.message < call.message or call.message < 0) for turn in conduct.turns
        )
        is_allowed = reason == "user_request" and (is_wanted or conduct.messages is None)
        if reason != "no_tool" and not is_allowed:
            yield f"handed over in {named(call)} with the reason {reason}, and not no_tool"


def facts_of_later_wish(task: Task) -> list[Fact]:
    """The facts of the later wish that neither the first message tells nor another fact of the user's."""
    later = task.scenario.later
    own = [fact for fact in task.scenario.facts if later and fact.id in later.facts]
    others = [message.content or "" for message in task.messages]
    others += [fact.text for fact in task.scenario.facts if fact not in own]
    return [fact for fact in own if not any(tells_fact(fact, text, task.now) for text in others)]


_MOMENT = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d)?")
_NO_DIGIT = re.compile(r"\D")
UNASKED = "before the user asked for it"
"""How a fault reads that `foresight_faults` finds."""


def foresight_faults(conduct: AgentConduct) -> Iterator[str]:
    """Writes that do what the user asks for later, made before they asked for it.

    What they only agree to may be proposed at any time.
    """
    wanted = [call for call in conduct.task.golden if call.asked_later and call.demanded_by is None]
    for call in conduct.calls:
        is_write = call.ok and any(call.result.changed)
        if is_write and any(_is_same(call, one) for one in wanted) and conduct.is_before_later_wish(call):
            yield f"{named(call)} {UNASKED}"


def question_faults(conduct: AgentConduct) -> Iterator[str]:
    """Writes made before the user had told what they need."""
    if conduct.messages is None:
        return
    facts = {fact.id: fact for fact in conduct.task.scenario.facts}
    for need in conduct.task.criteria.must_ask:
        write = next((call for call in conduct.calls if call.ok and call.tool == need.tool), None)
        needed = [facts[id] for id in need.facts if id in facts]
        settled = [place for place in map(conduct.settled_at, needed) if place is not None]
        if write is not None and (not settled or 0 <= write.message < min(settled)):
            yield f"not told {' or '.join(need.facts)} before {named(write)}"


def named(call: ExecutedCall) -> str:
    """A call as faults name it: `call 3 (cancel_appointment)`."""
    return f"call {call.position} ({call.tool})"


def _declining_rule(call: ExecutedCall) -> str | None:
    is_decline = call.tool == DECLINE or (call.tool == TRANSFER and call.arguments.get("reason") == "policy")
    rule = call.arguments.get("rule") if is_decline else None
    return rule if isinstance(rule, str) else None


def _is_same(call: ExecutedCall, golden: GoldenCall) -> bool:
    """Whether a call has the tool and the arguments of a golden one, as far as the golden one has them."""
    if call.tool != golden.tool:
        return False
    return all(value is None or _is_alike(call.arguments.get(name), value) for name, value in golden.arguments.items())


def _is_alike(given: Json, value: Json) -> bool:
    """Whether an argument has a value, in whatever form a day or a time is given."""
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        length = 12 if ":" in value else 8
        return _NO_DIGIT.sub("", str(given))[:length] == _NO_DIGIT.sub("", value)[:length]
    return normalise(str(given)) == normalise(str(value))


def _is_telling(fact: Fact) -> bool:
    """Whether nobody would say a fact's value by chance: it has figures, a name, or several words."""
    return any(one.isdigit() or one.isupper() or one == " " for one in str(fact.value))
