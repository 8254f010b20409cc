"""Moves: what the user does in answer to a message, decided from memory and reading. `speech` puts them into words."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from evaluator.conduct.questions import asks_for, asks_which, proposes, questions
from rollout.offline.user.lexicon import deeds_of
from rollout.offline.user.memory import Memory
from rollout.offline.user.options import choose
from rollout.offline.user.reading import Reading
from rollout.user.role import Role
from skillweave.schema.task import Fact

Kind = Literal[
    "tell", "name", "age", "no_id", "unknown", "no_preference", "yes", "no", "no_thanks", "transfer",
    "want", "again", "rest", "next", "left", "check", "pick", "none_fits", "that_is_all",
    "go_ahead", "why_not", "accept", "wait", "nudge", "double_check", "thanks", "give_up",
]  # fmt: skip
ONE_AT_A_TIME = "answers one question at a time"
DOUBLE_CHECKS = "double-checks what was done before ending"
MOST_YES = 2
"""Confirmations in a row, without a report, that count as getting on."""
MOST_NO = 2
MOST_UNKNOWN = 3
MOST_TRANSFERS = 2
_OPEN = re.compile(r"\b(?:which|what|when|where|who|whom|whose|how)\b", re.IGNORECASE)


class Move(NamedTuple):
    kind: Kind
    facts: tuple[Fact, ...] = ()
    errands: tuple[int, ...] = ()
    number: int = 0
    """Of the option that is chosen."""


def decide(memory: Memory, reading: Reading, role: Role) -> list[Move]:
    """The user's moves; the memory takes in the message and the moves."""
    memory.hear(reading)
    declined = [place for place in memory.settled_now if memory.status[place] == "declined"]
    _reopen(memory, reading, declined)
    told_before, unknown_before = len(memory.told), memory.unknowns
    agreed_to = _needed(memory, reading) if declined else []
    if agreed_to:
        for place in declined:
            memory.status[place] = "open"
        memory.consented = True
        memory.agreed = agreed_to
        return _going_on(memory, [Move("go_ahead", errands=tuple(agreed_to))])
    if declined and not reading.gives_reason and not reading.hands_over and not memory.asked_why:
        memory.asked_why = memory.awaits_reason = True
        return _going_on(memory, [Move("why_not", errands=tuple(declined))])
    if reading.offers_transfer and memory.transfers < MOST_TRANSFERS:
        memory.transfers += 1
        return _going_on(memory, [Move("transfer")])
    if memory.is_over:
        return _ending(memory, reading, role)
    accepted = [Move("accept")] if declined or (memory.awaits_reason and not reading.proposes) else []
    is_left = memory.awaits_reason and not reading.proposes and not reading.questions
    memory.awaits_reason = False
    moves = _answering(memory, reading, role, declined=bool(declined))
    moves += _voicing(memory, reading, role, said=bool(moves))
    if is_left and not moves:
        moves = [Move("left", errands=tuple(memory.open))]
    moves = _not_anew(memory, moves, sober=bool(accepted))
    gets_on = _gets_on(memory, moves, no_idea=memory.unknowns > unknown_before)
    if is_left or memory.settled_now or len(memory.told) > told_before or gets_on:
        return _going_on(memory, accepted + moves)
    memory.stalled += 1
    if memory.stalled >= role.persona.patience:
        return [Move("give_up")]
    return accepted + (moves or _not_anew(memory, _stalling(memory, reading), sober=bool(accepted)))


def told_at_once(role: Role) -> set[str]:
    """Ids of the facts that are told with the errands."""
    return {fact.id for fact in role.scenario.facts if fact.tell == "first"}


def _going_on(memory: Memory, moves: list[Move]) -> list[Move]:
    memory.stalled = 0
    return moves


def _reopen(memory: Memory, reading: Reading, declined: Sequence[int]) -> None:
    """An agent that proposes what it declined before, or what the user agreed to for its sake, has thought better."""
    if not memory.is_over or not reading.proposes or declined:
        return
    if memory.on_standby(reading.proposed):
        for place in [place for place in memory.asked_for if memory.status[place] == "declined"]:
            memory.status[place] = "open"
    for place in reading.proposed:
        if memory.status[place] == "declined":
            later = [p for p in range(place, len(memory.status)) if p == place or memory.errands[p].kind == "hear"]
            for one in [one for one in later if memory.status[one] == "declined"]:
                memory.status[one] = "open"


def _needed(memory: Memory, reading: Reading) -> list[int]:
    """What the user agrees to, where an agent declines and may be in want of it; said once."""
    if memory.consented or reading.hands_over or reading.proposes:
        return []
    return memory.on_standby(range(len(memory.errands)))


def _ending(memory: Memory, reading: Reading, role: Role) -> list[Move]:
    moves = [Move("no_thanks")] if reading.proposes and not reading.offers else []
    done = [place for place, status in enumerate(memory.status) if status == "settled"]
    checks = DOUBLE_CHECKS in role.persona.traits and not memory.checked and not moves
    is_all_done = all(memory.status[place] == "settled" for place in memory.asked_for)
    if checks and any(memory.errands[place].kind == "do" for place in done) and is_all_done:
        memory.checked = True
        return [Move("double_check", errands=tuple(done))]
    return [*moves, Move("thanks")]


def _answering(memory: Memory, reading: Reading, role: Role, *, declined: bool) -> list[Move]:
    """What a proposal and questions are answered with."""
    moves = _to_proposal(memory, reading, declined=declined) if reading.proposes else []
    if any(move.kind == "no" for move in moves):
        return moves
    chosen = choose(reading.options, [topic for topic in memory.topics if topic.fact.value is not None])
    if chosen and not moves:
        known = tuple(topic.fact for topic in chosen.topics)
        memory.told |= {fact.id for fact in known}
        return [Move("pick" if chosen.number else "none_fits", facts=known, number=chosen.number)]
    asked = [topic.fact for topic in reading.asked if topic.fact.tell != "never"] or _meant(memory, reading)
    if reading.asks_name:
        moves.append(Move("name"))
    if reading.asks_age:
        moves.append(Move("age"))
    if reading.asks_id and not reading.proposes:
        moves.append(Move("no_id"))
    if asked:
        moves += _answer(asked, memory, role)
    elif moves and reading.proposes and reading.asks_preference:
        moves.append(Move("no_preference"))
    elif not moves and reading.asks_any_more and any(memory.voiced) and not reading.asks_wish:
        memory.unknowns += 1
        moves.append(Move("that_is_all"))
    elif not moves and reading.unknown and not reading.asks_in_general and any(memory.voiced):
        left_out = _left_out(memory) if reading.asks_which else []
        if left_out:
            return _answer(left_out, memory, role)
        memory.unknowns += 1
        if reading.asks_which and memory.open:
            return [Move("again", errands=tuple(memory.open[:1]))]
        moves.append(Move("no_preference" if reading.asks_preference else "unknown"))
    return moves


def _answer(asked: Sequence[Fact], memory: Memory, role: Role) -> list[Move]:
    facts = _one(asked, memory) if _goes_slowly(role) else asked
    memory.told |= {fact.id for fact in facts}
    return [Move("tell", facts=tuple(facts))]


def _left_out(memory: Memory) -> list[Fact]:
    """What tells the thing that is meant from others, and was not told; else what is wanted for it."""
    untold = [topic for topic in memory.topics if topic.fact.value is not None and not topic.is_own]
    untold = [topic for topic in untold if topic.fact.id not in memory.told]
    return [topic.fact for topic in [topic for topic in untold if topic.is_row] or untold]


def _meant(memory: Memory, reading: Reading) -> list[Fact]:
    """What was not told yet, and is asked for in other words than its own: `who should be added?`."""
    if reading.offers or reading.asks_any_more or reading.asks_in_general or reading.asks_id:
        return []
    asking = [one for one in questions(reading.text) if _OPEN.search(one) and not proposes(one)]
    return [
        topic.fact
        for topic in memory.topics
        if topic.fact.value is not None and not topic.is_own and topic.fact.id not in memory.told
        if any(asks_for(one, topic.fact, ()) or asks_which(one, topic.fact) for one in asking)
    ]


def _to_proposal(memory: Memory, reading: Reading, *, declined: bool) -> list[Move]:
    if declined and not any(place in memory.open for place in reading.proposed):
        return [Move("no_thanks")]
    agreed_to = _agreed_to(memory, reading)
    about = agreed_to or _wanted(memory, reading) or reading.proposed or memory.open_deeds[:1]
    facts = tuple(topic.fact for topic in reading.conflicts if reading.concerns(topic, about))
    if reading.is_extra and not facts:
        memory.refusals += 1
        return [Move("no_thanks")]
    if facts or reading.is_beside:
        memory.refusals += 1
        memory.agreements = 0
        errands = tuple(place for place in memory.open if memory.voiced[place])
        memory.told |= {fact.id for fact in facts}
        return [Move("no", facts=facts, errands=errands[:1])]
    memory.agreements += 1
    memory.refusals = 0
    memory.agreed = agreed_to or [place for place in about if place in memory.open]
    memory.confirmed |= set(memory.agreed)
    for place in memory.agreed:
        memory.voiced[place] = True
    return [Move("yes")]


def _wanted(memory: Memory, reading: Reading) -> list[int]:
    """What a proposal is about of what the user wants; of alike deeds the one that they have brought up."""
    named = [place for place in reading.proposed if place in memory.open]
    voiced = [place for place in named if memory.voiced[place]]
    if voiced or not named:
        return voiced
    deeds = frozenset().union(*(deeds_of(memory.errands[place].whole) for place in named)) & deeds_of(reading.text)
    alike = [p for p in memory.open_deeds if memory.voiced[p] and deeds_of(memory.errands[p].whole) & deeds]
    return alike or named


def _agreed_to(memory: Memory, reading: Reading) -> list[int]:
    """What a proposal is about that the user agreed to beforehand; `shall I pay it?` is of what they named just now."""
    if reading.proposed:
        return memory.on_standby(reading.proposed)
    said = deeds_of(reading.text)
    return [place for place in memory.on_standby(memory.agreed) if deeds_of(memory.errands[place].whole) & said]


def _goes_slowly(role: Role) -> bool:
    return role.telling == "reserved" or ONE_AT_A_TIME in role.persona.traits


def _one(asked: Sequence[Fact], memory: Memory) -> list[Fact]:
    """One fact: the first that has not been told."""
    new = [fact for fact in asked if fact.id not in memory.told]
    return [*new, *asked][:1]


def _voicing(memory: Memory, reading: Reading, role: Role, *, said: bool) -> list[Move]:
    """What the user brings up: the next errand where one is told after the other, what is left where part was done."""
    unvoiced = [place for place in memory.open if not memory.voiced[place]]
    waiting = [place for place in memory.open if memory.voiced[place]]
    if unvoiced and role.telling == "greeting" and not said:
        memory.told |= told_at_once(role)
        return [_voice(memory, "want", unvoiced)]
    if unvoiced and role.telling == "piecemeal" and (not waiting or (reading.offers_more and not said)):
        return [_voice(memory, "next", unvoiced[:1])]
    if reading.asks_wish and waiting and memory.offers == 0:
        memory.offers += 1
        return [Move("want", errands=tuple(waiting))]
    if said or not waiting:
        return []
    if memory.settled_now and not reading.waits:
        return [Move("rest", errands=tuple(waiting))]
    if reading.offers or reading.asks_in_general:
        memory.offers += 1
        return [Move("want" if memory.offers == 1 else "again", errands=tuple(waiting))]
    return []


def _not_anew(memory: Memory, moves: Sequence[Move], *, sober: bool) -> list[Move]:
    """The moves, without asking anew for what was confirmed: of that the user asks whether it went through."""
    found: list[Move] = []
    for move in moves:
        if move.kind not in ("rest", "want", "again", "left"):
            found.append(move)
            continue
        done = [place for place in move.errands if place in memory.confirmed and memory.errands[place].kind == "do"]
        others = tuple(place for place in move.errands if place not in done)
        if done:
            memory.checks = done
            found.append(Move("check", errands=tuple(done)))
        if others:
            kind: Kind = "left" if sober and move.kind == "rest" else move.kind
            found.append(Move("left" if done else kind, errands=others))
    return found


def _voice(memory: Memory, kind: Kind, places: Sequence[int]) -> Move:
    for place in places:
        memory.voiced[place] = True
    memory.newly_voiced = True
    return Move(kind, errands=tuple(places))


def _gets_on(memory: Memory, moves: Sequence[Move], *, no_idea: bool) -> bool:
    """Whether moves that settle and tell nothing new are nevertheless a step."""
    kinds = {move.kind for move in moves}
    newly, memory.newly_voiced = memory.newly_voiced, False
    return (
        newly
        or ("yes" in kinds and memory.agreements <= MOST_YES)
        or (bool(kinds & {"no", "no_thanks"}) and memory.refusals <= MOST_NO)
        or (no_idea and memory.unknowns <= MOST_UNKNOWN)
        or ("want" in kinds and memory.offers == 1)
    )


def _stalling(memory: Memory, reading: Reading) -> list[Move]:
    """What is said to a message that needs no answer and brought nothing."""
    places = tuple(place for place in memory.open if memory.voiced[place])
    known = tuple(topic.fact for topic in memory.topics if reading.is_lost and topic.is_row)
    if known:
        return [Move("tell", facts=known)]
    if reading.waits or (memory.agreed and memory.stalled == 1):
        return [Move("wait")]
    return [Move("again" if memory.stalled in (1, 2) and not memory.agreed else "nudge", errands=places)]
