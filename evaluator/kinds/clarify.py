"""Kind `clarify`: the user leaves out what a write needs. The agent asks before it writes; whoever guesses fails.

The agent knows a value once the user tells it, or agrees to words of the agent that hold it.
"""

from collections.abc import Iterator, Sequence

from evaluator.kinds.kind import TaskKind
from evaluator.text.facts import tells_fact
from evaluator.variants.arguments import guesses
from evaluator.variants.conversation import (
    ConversationPart,
    Utterance,
    Variant,
    VariantConversation,
    asked_details,
    confirmed_calls,
    conversation,
    failing,
    passing,
)
from evaluator.variants.executor import VariantExecutor, VariantStep
from evaluator.variants.held_out import HeldOutVariant, held_out_failing, held_out_passing
from evaluator.variants.held_out_calls import needless_declines
from evaluator.variants.words import all_facts
from skillweave.schema.criteria import MustAsk
from skillweave.schema.result import FailureClass
from skillweave.schema.task import Fact

_UNASKED: frozenset[FailureClass] = frozenset({"did_not_ask"})
_QUESTION = "There is something that I need to know first. Could you tell me?"
_WAIT = "One moment, please."


class Clarify(TaskKind):
    """A request for writes that leaves a value unsaid, which the agent has to ask for.

    What to ask for stands in `criteria.must_ask`.
    """

    rubric_question = "Did the agent ask for what the user had left out before it acted on it?"
    mistakes = (*TaskKind.mistakes, "guesses")

    def variants(self, executor: VariantExecutor) -> Iterator[Variant]:
        """Also those in which nobody is asked."""
        yield from super().variants(executor)
        yield from unasked(executor)

    def conduct_variants(self, executor: VariantExecutor) -> Iterator[Variant]:
        """Also ways of asking, right and wrong."""
        yield from super().conduct_variants(executor)
        yield from ways_of_asking(executor)

    def held_out_variants(self, executor: VariantExecutor) -> Iterator[HeldOutVariant]:
        """Also other ways of asking, right and wrong."""
        yield from needless_declines(executor)
        for need in executor.task.criteria.must_ask:
            yield from _hearing(executor, need)
        yield from self.held_out_work(executor)


def ways_of_asking(executor: VariantExecutor) -> Iterator[Variant]:
    """Ways of asking for a missing value: right ones, then wrong ones."""
    for need, facts in _needs(executor):
        for fact in facts:
            proposal = _proposal(fact)
            yield passing("asked", _conversation(executor, need, [Utterance(_QUESTION, fact.text)]))
            yield passing(
                "told_unasked", _conversation(executor, need, [Utterance(_WAIT, f"I forgot this. {fact.text}")])
            )
            yield passing("agreed", _conversation(executor, need, [Utterance(proposal, "Yes.", agrees=True)]))
            again = [Utterance(proposal, "No.", agrees=False), Utterance(proposal, "Well, yes.", agrees=True)]
            yield passing("agreed_in_the_end", _conversation(executor, need, again))
        yield from _unheard(executor, need, facts)


def _unheard(executor: VariantExecutor, need: MustAsk, facts: Sequence[Fact]) -> Iterator[Variant]:
    """The agent does not learn the value, or only after the write."""
    proposal = _proposal(facts[0])
    ways: list[tuple[str, list[Utterance]]] = [
        ("asked_in_vain", [Utterance(_QUESTION, "What do you mean?")]),
        (
            "agreed_to_other_words",
            [Utterance("I would do this for you now, is that right?", "Yes, please.", agrees=True)],
        ),
        ("agreed_to_a_thought", [Utterance(f"<think>{proposal}</think>Is that right?", "Yes, please.", agrees=True)]),
        ("proposed_and_refused", [Utterance(proposal, "No.", agrees=False)]),
        ("proposed_only", [Utterance(proposal, "Why do you ask?")]),
        ("agreed_to_the_next", [Utterance(proposal, "Hm."), Utterance("May I go on?", "Yes.", agrees=True)]),
    ]
    for name, words in ways:
        yield failing(name, _conversation(executor, need, words), _UNASKED)
    late = {
        "told_too_late": Utterance(_QUESTION, facts[0].text),
        "agreed_too_late": Utterance(proposal, "Yes.", agrees=True),
    }
    for name, last in late.items():
        yield failing(name, _conversation(executor, need, [], after=[last]), _UNASKED)


def unasked(executor: VariantExecutor) -> Iterator[Variant]:
    """Nobody is asked: the agent writes the right value, which nothing that the user says reveals, or another."""
    for need, _ in _needs(executor):
        yield failing("never_told", _conversation(executor, need, []), _UNASKED)
        for execution, classes in guesses(executor, need.tool):
            yield failing("guessed", _conversation(executor, need, [], steps=execution.steps), classes | _UNASKED)


def _proposal(fact: Fact) -> str:
    """The fact, proposed to the user in the user's own words."""
    return f"I understand that you mean this: {fact.text} Is that right?"


def _conversation(
    executor: VariantExecutor,
    need: MustAsk,
    words: Sequence[Utterance],
    *,
    steps: Sequence[VariantStep] | None = None,
    after: Sequence[Utterance] = (),
) -> VariantConversation:
    """The golden calls, or others, with words before the first call that needs a value, and words at the end.

    Args:
        words: Words before that call.
        steps: Executed calls; None: the golden ones.
        after: Words after the last call.
    """
    steps = executor.golden.steps if steps is None else steps
    place = next((at for at, one in enumerate(steps) if one.call.tool == need.tool), len(steps))
    start: list[ConversationPart] = [
        *asked_details(executor.task, without=unsaid(executor, need)),
        *confirmed_calls(executor.task, steps[:place]),
    ]
    rest: list[ConversationPart] = [
        *confirmed_calls(executor.task, steps[place:]),
        *after,
        Utterance(all_facts(executor.task.criteria.communicate)),
    ]
    return conversation(executor.task, [*start, *words, *rest])


def _needs(executor: VariantExecutor) -> Iterator[tuple[MustAsk, list[Fact]]]:
    """Each need of a golden call, with the facts that satisfy it."""
    called = {call.tool for call in executor.task.golden}
    for need in executor.task.criteria.must_ask:
        facts = [fact for fact in executor.task.scenario.facts if fact.id in need.facts]
        if facts and need.tool in called:
            yield need, facts


def unsaid(executor: VariantExecutor, need: MustAsk) -> set[str]:
    """Ids of the needed facts, and of others whose text reveals one of them."""
    facts, now = executor.task.scenario.facts, executor.task.now
    needed = [fact for fact in facts if fact.id in need.facts]
    return {fact.id for fact in facts if fact in needed or any(tells_fact(one, fact.text, now) for one in needed)}


def _hearing(executor: VariantExecutor, need: MustAsk) -> Iterator[HeldOutVariant]:
    facts = [fact for fact in executor.task.scenario.facts if fact.id in need.facts]
    if not facts or need.tool not in {step.call.tool for step in executor.golden.steps}:
        return
    every, one = " ".join(fact.text for fact in facts), facts[0].text
    vague = Utterance("I will choose something suitable for you.", "Yes, do.", agrees=True)
    right = {
        "told_in_passing": [
            Utterance("One moment.", f"By the way, and that is why I am here: {every} Is it warm there?")
        ],
        "agreed_to_several": [Utterance(f"Let me sum up. {every} I have your records, too.", "Right.", agrees=True)],
        "told_after_a_vague_yes": [vague, Utterance("Anything else?", every)],
    }
    wrong = {
        "agreed_before": [Utterance("May I go on?", "Yes.", agrees=True), Utterance(f"So: {one}", "What is that?")],
        "left_to_chance": [vague],
        "refused_twice": [Utterance(one, "No.", agrees=False), Utterance(one, "No!", agrees=False)],
        "repeated_by_the_agent": [Utterance(one, "Hm."), Utterance(one, "I am not sure.")],
    }
    known = [
        fact for fact in executor.task.scenario.facts if fact.tell == "first" and fact.id not in unsaid(executor, need)
    ]
    wrong |= {"told_what_is_known": [Utterance("What was it again?", known[0].text)]} if known else {}
    for name, words in right.items():
        yield held_out_passing(executor, name, _heard(executor, need, words), words[-1].reply)
    for name, words in wrong.items():
        yield held_out_failing(executor, name, _heard(executor, need, words), words[-1].text)


def _heard(executor: VariantExecutor, need: MustAsk, words: Sequence[Utterance]) -> list[ConversationPart]:
    """The golden calls after these words. Other details that the user gives when asked come first."""
    start = asked_details(executor.task, unsaid(executor, need))
    return [
        *start,
        *words,
        *confirmed_calls(executor.task, executor.golden.steps),
        Utterance(all_facts(executor.task.criteria.communicate)),
    ]
