"""An agent's conduct, and what is wrong with it: declines, transfers, and values that the user was not asked for.

What the agent did and recorded decides; its words are not interpreted. Each kind of task says which of these faults
count for it. A fault is one line of text that names the call, counted from 0.

The base of all kinds of task: what a kind decides, with the answers for a request that tools carry out.

A kind of one's own is a subclass. Its module registers an instance:

    from evaluator.kinds import KINDS, TaskKind

    class Callback(TaskKind):
        rubric_question = "Did the agent promise a call back, and say when?"

    KINDS.register("callback", Callback())

Whatever it does not override holds as for `do`.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal, NamedTuple

from evaluator.replay.execution import ExecutedCall
from evaluator.text.facts import is_told, tells_fact, words_of
from evaluator.variants.conversation import Variant
from evaluator.variants.declines import declined_variants, ways_of_recording
from evaluator.variants.equivalents import call_formats, equivalents
from evaluator.variants.executor import VariantExecutor
from evaluator.variants.held_out import HeldOutVariant
from evaluator.variants.held_out_calls import changed_calls, needless_declines
from evaluator.variants.held_out_declines import other_records, wrong_records
from evaluator.variants.held_out_forms import other_forms_of_facts, other_orders
from evaluator.variants.mutants import further_writes, mutants, told_wrongly, unfinished, untold
from skillweave.schema.contract import DECLINE, SESSION_TOOLS, TRANSFER
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.result import FailureClass
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

        They did so in the first message that they recorded as such, or that tells a fact of it which nothing else
        tells. Where there is none, and it could be missed, their second message counts.
        """
        if self.messages is None:
            return False
        heard = self._later_wish(self.messages)
        return heard is None or 0 <= call.message < heard

    def _later_wish(self, messages: Sequence[Message]) -> int | None:
        """Position of the message with the later wish; None if there is none."""
        task, facts = self.task, facts_of_later_wish(self.task)
        for turn in self.turns:
            if turn.later or any(is_told(fact, messages, turn.message, task.now) for fact in facts):
                return turn.message
        is_unsaid = bool(facts) and all(turn.later is not None for turn in self.turns)
        return None if is_unsaid else next((turn.message for turn in self.turns[1:]), None)

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


UNASKED = "before the user asked for it"
"""How a fault reads that `foresight_faults` finds."""


def foresight_faults(conduct: AgentConduct) -> Iterator[str]:
    """Writes that do what the user asks for later, made before they asked for it."""
    wanted = [call for call in conduct.task.golden if call.asked_later]
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
        if write is not None and not any(_is_settled(conduct, fact, write) for fact in needed):
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
    return all(
        value is None or normalise(str(call.arguments.get(name))) == normalise(str(value))
        for name, value in golden.arguments.items()
    )


def _is_settled(conduct: AgentConduct, fact: Fact, write: ExecutedCall) -> bool:
    """Whether the user told a fact, or agreed to words that hold it, before a call."""
    before, messages = -1, conduct.messages or ()
    for turn in conduct.turns:
        if 0 <= write.message < turn.message:
            return False
        if is_told(fact, messages, turn.message, conduct.task.now):
            return True
        proposed = [
            message.content or "" for message in messages[before + 1 : turn.message] if message.role == "assistant"
        ]
        if turn.agrees and tells_fact(fact, "\n".join(proposed), conduct.task.now):
            return True
        before = turn.message
    return False


Mistake = Literal[
    "wrong_argument", "skipped_call", "extra_write", "invented_tool", "gives_up", "guesses",
    "nothing_recorded", "wrong_rule", "wrong_reason",
]  # fmt: skip
"""What the careless scripted agent can do wrong."""


class Misconduct(NamedTuple):
    """How a broken policy is explained."""

    failure: FailureClass
    expected: str
    """What the agent had to do instead, in words."""


class TaskKind:
    """What follows from a task's kind. One instance serves all tasks of the kind; it keeps nothing."""

    is_goal: ClassVar[bool] = False
    """Whether authors write goals of this kind; tasks of the other kinds are derived from goals."""
    is_carried_out: ClassVar[bool] = True
    """Whether tools carry the request out; where not, the agent declines or transfers it."""
    ending: ClassVar[str | None] = None
    """The tool with which the golden calls end: `decline_request`, `transfer_to_human`, or None. Calls of a kind of
    which tools carry out one part may end with a decline of the other."""
    rubric_question: ClassVar[str | None] = None
    """What a judge is asked about tasks of this kind, to be answered with yes or no."""
    mistakes: ClassVar[tuple[Mistake, ...]] = (
        "wrong_argument",
        "skipped_call",
        "extra_write",
        "invented_tool",
        "gives_up",
    )
    """What the careless scripted agent does wrong; the order is part of what its seed draws."""

    def task_fault(self, task: Task) -> str | None:
        """Why a task of this kind cannot be scored; None where it can."""
        return None

    def ending_of(self, task: Task) -> str | None:
        """The tool with which a task's golden calls end; None if with one of the world's."""
        return self.ending or (DECLINE if task.criteria.declined is not None else None)

    def conduct_faults(self, conduct: AgentConduct) -> Iterator[str]:
        """What the policy check holds against the agent, beside broken rules; a line each."""
        yield from decline_faults(conduct)
        yield from question_faults(conduct)
        yield from foresight_faults(conduct)

    def needs_messages(self, task: Task, calls: Sequence[ExecutedCall]) -> bool:
        """Whether only the conversation can show that the agent kept to the policy."""
        is_foretold = any(call.asked_later for call in task.golden)
        return bool(task.criteria.must_ask) or task.criteria.declined is not None or is_foretold

    def misconduct(self, task: Task, declines: Sequence[RecordedDecline]) -> Misconduct:
        """How the first of the conduct's faults is explained.

        Args:
            declines: What the agent recorded as declined.
        """
        demanded = task.criteria.declined
        if demanded is None and declines:
            return Misconduct("wrongly_declined", "nothing recorded as declined")
        if demanded is not None:
            is_wrong = any(rule not in demanded.accepted for _, rule in declines)
            expected = f'{DECLINE}(rule="{demanded.rule}"), and words to the user'
            return Misconduct("wrong_rule" if is_wrong else "not_declined", expected)
        if task.criteria.must_ask:
            expected = "the user's word on what they left out, before the write that needs it"
            return Misconduct("did_not_ask", expected)
        return Misconduct("policy_violation", "what the policy asks")

    def variants(self, executor: VariantExecutor) -> Iterator[Variant]:
        """Variants of a task's golden conversation that depend on its values and rows, in a fixed order."""
        yield from equivalents(executor)
        yield from mutants(executor)
        yield from told_wrongly(executor)
        yield from declined_variants(executor)

    def conduct_variants(self, executor: VariantExecutor) -> Iterator[Variant]:
        """Variants that are alike for all tasks of one conduct: how calls are written, what is written besides,
        what is recorded and told when, who is asked. In a fixed order."""
        yield from call_formats(executor)
        if self.is_goal:
            yield from further_writes(executor)
        yield from unfinished(executor)
        yield from untold(executor)
        yield from ways_of_recording(executor)

    def held_out_variants(self, executor: VariantExecutor) -> Iterator[HeldOutVariant]:
        """Variants of the second set, by which no task is kept or dropped, in a fixed order."""
        yield from needless_declines(executor)
        yield from other_records(executor)
        yield from wrong_records(executor)
        yield from self.held_out_work(executor)

    def held_out_work(self, executor: VariantExecutor) -> Iterator[HeldOutVariant]:
        """Those of the second set that carry the request out, rightly or wrongly."""
        yield from other_orders(executor)
        yield from changed_calls(executor)
        yield from other_forms_of_facts(executor)
