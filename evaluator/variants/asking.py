"""Ways of dealing with what the user has left out: whoever asks for it before acting passes, whoever guesses fails."""

import re
from collections.abc import Iterator, Sequence

from evaluator.variants.candidates import shown
from evaluator.variants.changed import guesses
from evaluator.variants.telling import told
from evaluator.variants.transcript import Beat, Words, conversation, deeds, details
from evaluator.variants.variant import Variant, failing, passing
from evaluator.variants.workbench import Made, Workbench
from skillweave.schema.message import Message
from skillweave.schema.result import FailureClass
from skillweave.schema.task import Fact, MustAsk

_TAILS = {"_at": " time", "_on": " date", "_id": "", "_cents": "", "_name": " name"}
_UNASKED: frozenset[FailureClass] = frozenset({"did_not_ask"})
_BESIDE = Words("Could you also tell me if you like our newsletter?", "I have never read it.")
_DATED = re.compile(r"\d{4}-\d\d-\d\d")
_REASONS = frozenset({"reason", "question", "purpose"})
"""What a question for the reason asks for."""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:00")


def asked_first(bench: Workbench) -> Iterator[Variant]:
    """Each that is right: what was left out is asked for, or the user comes out with it."""
    for need, facts in _needs(bench):
        answer, label = _answer(facts), _label(facts[0])
        ways = [("asked_by_name", f"Could you tell me the {_label(fact)}?") for fact in facts]
        ways += [("asked_what", f"What is the {label}, please?"), ("asked_briefly", f"The {label}, please.")]
        ways += [("asked_which_one", "There are several that it could be. Which one do you mean?")]
        ways += [("asked_two_things", f"May I ask you for the {label}? {_BESIDE.text}")]
        ways += [("asked_which", f"Which {noun} do you mean?") for noun in _nouns(bench, facts[0])]
        ways += [("offered_choices", f"Is it {' or '.join(offered)}?") for offered in _choices(bench, need, facts)]
        for name, question in ways:
            yield passing(name, _conversation(bench, need, [Words(question, answer)]))
        again = [Words(f"I need the {label} for that.", "Do you?"), Words(f"Yes. What is the {label}?", answer)]
        yield passing("asked_twice", _conversation(bench, need, again))
        unasked = Words("One moment, please.", f"I forgot to say this. {answer}")
        yield passing("said_unasked", _conversation(bench, need, [unasked]))


def not_asked_first(bench: Workbench) -> Iterator[Variant]:
    """Each that is wrong."""
    for need, facts in _needs(bench):
        question = f"What is the {_label(facts[0])}?"
        yield failing("never_asked", _conversation(bench, need, []), _UNASKED)
        for name, words in [
            ("asked_something_else", _BESIDE),
            ("only_proposed", Words("I would do this for you now, is that right?", "Yes, please.")),
            ("only_greeted", Words("Hello! What can I do for you?", _request(bench))),
            ("asked_in_thought", Words(f"<think>{question}</think>One moment, please.", "Fine.")),
        ]:
            yield failing(name, _conversation(bench, need, [words]), _UNASKED)
        for name, words in _neighbours(bench, need, facts):
            yield failing(name, _conversation(bench, need, [words]), _UNASKED)
        for name, question_of_identity in _who_is_calling(bench, need, facts):
            yield failing(name, _conversation(bench, need, [], first=question_of_identity), _UNASKED)
        late = [Words(question, _answer(facts))]
        yield failing("asked_too_late", _conversation(bench, need, [], after=late), _UNASKED)
        yield failing("asked_beside_the_call", _beside(_conversation(bench, need, []), need, question), _UNASKED)
        for attempt, classes in guesses(bench, need.tool):
            yield failing("guessed", _conversation(bench, need, [], made=attempt.made), classes | _UNASKED)


def _conversation(
    bench: Workbench,
    need: MustAsk,
    words: Sequence[Words],
    *,
    made: Sequence[Made] | None = None,
    after: Sequence[Words] = (),
    first: str | None = None,
) -> list[Message]:
    """The golden calls, or others, with these words before the first one that needs something, and those at the end.

    `first`: the question that brings out what the user gives only when asked for, apart from what is needed.
    """
    made = bench.golden.made if made is None else made
    place = next((at for at, one in enumerate(made) if one.move.tool == need.tool), len(made))
    asked = details(bench.task, without=_alike(bench, need))
    if first is not None:
        asked = [Words(first, asked[0].reply if asked else "You have all of that already.")]
    start: list[Beat] = [*asked, *deeds(bench.task, made[:place])]
    rest: list[Beat] = [*deeds(bench.task, made[place:]), *after, Words(told(bench.task.criteria.communicate))]
    return conversation(bench.task, [*start, *words, *rest])


def _who_is_calling(bench: Workbench, need: MustAsk, facts: Sequence[Fact]) -> Iterator[tuple[str, str]]:
    """Questions that only tell who is calling, some with what that is wanted for."""
    auth = [tool for tool in bench.world.blueprint.tools if tool.kind == "auth"]
    names = list(dict.fromkeys(parameter.name.replace("_", " ") for tool in auth for parameter in tool.parameters))
    known = " and ".join(names) or "full name and date of birth"
    thing = next(_nouns(bench, facts[0]), need.tool.partition("_")[2].replace("_", " "))
    yield "asked_who_calls", f"Could you please give me your {known}?"
    yield "asked_who_calls", "May I have your full name, your phone number and your date of birth, please?"
    yield "asked_who_calls_to_look_up", f"Could you please give me your {known}, so that I can look up your {thing}?"
    yield "asked_who_calls_to_look_up", f"To find your {thing}, please tell me your phone number and postcode."


def _neighbours(bench: Workbench, need: MustAsk, facts: Sequence[Fact]) -> Iterator[tuple[str, Words]]:
    """Questions for something else that lies near what is needed."""
    columns = {fact.id.rpartition(".")[2] for fact in facts}
    verb, _, thing = need.tool.partition("_")
    deed = f"{verb} the {thing.replace('_', ' ')}" if thing else verb
    if not columns & _REASONS:
        yield "asked_why", Words(f"Why do you want to {deed}?", "That is a long story.")
    yield "offered_more_help", Words("Is there any other way in which I can help you today?", "No, thank you.")
    yield "asked_if_known", Words(f"Do you know how it works to {deed}?", "Yes, I do.")
    noun = next(_nouns(bench, facts[0]), thing.replace("_", " ")) or "service"
    yield "asked_if_content", Words(f"Have you been happy with the {noun} so far?", "I have.")
    yield "asked_if_content", Words(f"Did you know that you can see your {noun} on our website?", "No.")
    for other in bench.task.scenario.facts:
        if _is_neighbour(other, facts):
            yield "asked_another_fact", Words(f"What is the {_label(other)}?", other.text)


def _is_neighbour(other: Fact, facts: Sequence[Fact]) -> bool:
    """Whether a fact is another one, neither called nor valued like these, and does not tell the row that is needed."""
    thing, _, column = other.id.rpartition(".")
    things = {word for fact in facts for word in fact.id.rpartition(".")[0].split("_")}
    columns = {fact.id.rpartition(".")[2] for fact in facts}
    is_moment = isinstance(other.value, str) and _DATED.match(other.value) is not None
    moments = [isinstance(fact.value, str) and _DATED.match(fact.value) is not None for fact in facts]
    return (
        other.value is not None
        and all(other.id != fact.id and other.value != fact.value for fact in facts)
        and column not in columns
        and not any({*_label(other).split()} <= {*_label(fact).split()} for fact in facts)
        and thing not in {fact.id.rpartition(".")[0] for fact in facts if not is_moment}
        and not {*_label(other).split()} & (things if not is_moment else set())
        and not (is_moment and any(moments) and _tells_row(column))
    )


def _tells_row(column: str) -> bool:
    """Whether a moment is called no more than a start: any may be called so."""
    return column.startswith(("starts", "ends"))


def _beside(messages: Sequence[Message], need: MustAsk, question: str) -> list[Message]:
    """The same with a question in the message that holds the call."""
    failed = {message.tool_call_id for message in messages if (message.content or "").startswith('{"error"')}
    called = [
        {call.function.name for call in message.tool_calls or () if call.id not in failed} for message in messages
    ]
    place = next((at for at, names in enumerate(called) if need.tool in names), 0)
    return [one.model_copy(update={"content": question}) if at == place else one for at, one in enumerate(messages)]


def _needs(bench: Workbench) -> Iterator[tuple[MustAsk, list[Fact]]]:
    """What golden calls need, with the facts that it is."""
    called = {call.tool for call in bench.task.golden}
    for need in bench.task.criteria.must_ask:
        facts = [fact for fact in bench.task.scenario.facts if fact.id in need.facts]
        if facts and need.tool in called:
            yield need, facts


def _alike(bench: Workbench, need: MustAsk) -> set[str]:
    """The facts that are needed, and others of the same value: who says one says the other."""
    facts = bench.task.scenario.facts
    values = [fact.value for fact in facts if fact.id in need.facts]
    return {fact.id for fact in facts if fact.value in values}


def _request(bench: Workbench) -> str:
    return next((message.content or "" for message in bench.task.messages if message.role == "user"), "")


def _answer(facts: Sequence[Fact]) -> str:
    return " ".join(fact.text for fact in facts)


def _label(fact: Fact) -> str:
    """What the fact is called: `starts time`, `reason`."""
    column = fact.id.rpartition(".")[2]
    tail = next((tail for tail in _TAILS if column.endswith(tail)), "")
    return column.removesuffix(tail).replace("_", " ") + _TAILS.get(tail, "")


def _nouns(bench: Workbench, fact: Fact) -> Iterator[str]:
    """What the row is called that a fact describes; nothing where it is a value of a call."""
    thing = fact.id.rpartition(".")[0]
    if any(entity.table.endswith(thing) for entity in bench.world.blueprint.tables):
        yield thing.replace("_", " ")


def _choices(bench: Workbench, need: MustAsk, facts: Sequence[Fact]) -> Iterator[list[str]]:
    """The fact's value beside another one that the contract or a result shows, of the first fact that has one."""
    tool = bench.world.blueprint.tool(need.tool)
    for fact in facts:
        column = fact.id.rpartition(".")[2]
        allowed = [value for one in tool.parameters if one.name == column for value in one.enum or ()]
        seen = [str(value) for name, value in shown(bench) if name == column]
        others = [value for value in [*allowed, *seen] if value != fact.value]
        if isinstance(fact.value, str) and others:
            yield sorted(_spoken(value) for value in (fact.value, others[0]))
            return


def _spoken(value: str) -> str:
    return value.removesuffix(":00") if _MOMENT.fullmatch(value) else value.replace("_", " ")
