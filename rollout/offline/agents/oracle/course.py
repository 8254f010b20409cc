"""Course: where an agent with a script stands in its conversation, and what it does next.

The agent keeps nothing between replies. Its own earlier replies are decided again from the conversation before them,
so that the past tells not only what was said but why.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from evaluator.conduct.questions import gives
from rollout.offline.agents.heard import Words, answer, is_enough
from rollout.offline.agents.oracle.acts import (
    Act,
    Ask,
    Clarify,
    Decline,
    Do,
    GiveUp,
    Greet,
    Part,
    Propose,
    Report,
    Which,
)
from rollout.offline.agents.oracle.conduct import Conduct, Wanted
from rollout.offline.agents.oracle.rows import bound, has_key, is_bound, is_unclear, leaves, names_row, row_of
from rollout.offline.agents.oracle.wishes import Wishes
from rollout.offline.agents.script import Need, PlannedCall, Script
from rollout.offline.agents.transcript import Heard, Made, Reacted, Transcript
from skillweave.schema.call import TRANSFER
from skillweave.schema.record import Json

FRUITLESS = 2
"""How often a value is asked for in vain."""
RESTATED = 2
"""How often a proposal is put again."""
RECAPS = 3
MAKINGS = 4
"""How often a call is made again that was not carried out, or not in full."""


class Course:
    def __init__(self, script: Script, conduct: Conduct) -> None:
        self.script = script
        self.conduct = conduct
        self.words = Words([])
        self.results: dict[int, Json] = {}
        """By position in the script."""
        self.position = 0
        self.done: list[int] = []
        """Writes that were carried out, or that count as such."""
        self.left: list[int] = []
        """Writes that the user did not say yes to."""
        self.complaint: str | None = None
        """Why it cannot go on."""
        self.wishes = Wishes(script)
        self._heard: list[str] = []
        self._fruitless: Counter[tuple[int, str]] = Counter()
        self._clarified: Counter[int] = Counter()
        self._proposed: Counter[int] = Counter()
        self._makings: Counter[int] = Counter()
        self._agreed: set[int] = set()
        self._reported: set[int] = set()
        self._told: set[int] = set()
        self._explained: set[int] = set()
        """Calls for a rule's sake of which it has said why."""
        self._asked: set[bool] = set()
        """Whether it has asked for what signs in (True), and for anything else (False)."""
        self._signed_in: Made | None = None
        self._extra = 0
        self._extra_done = False
        self._resigned = False
        self._reopened = False
        self._recaps = 0
        self._open = True
        """Whether the user's last words may want something."""
        self._last: Act | None = None

    def follow(self, transcript: Transcript) -> "Course":
        """Take in the conversation so far."""
        for event in transcript.events:
            if isinstance(event, Heard):
                self._hear(event.text)
            else:
                self._took(self.decide(), event)
        return self

    def decide(self) -> Act:
        """What to do now."""
        if self.complaint is not None:
            return self._resign(self.complaint)
        if not self.wishes.known:
            return Greet()
        while self.position < len(self.script.calls) and self.wishes.covers(self.position):
            act = self._at(self.position) if self.position not in self.results else None
            if act is not None:
                return act
            self._skip(self.position)
        if self.position >= len(self.script.calls):
            extra = self.conduct.extra(self.results, self._extra, self._extra_done)
            if extra is not None:
                return Do((), ((extra.tool, extra.arguments),))
        return self._conclude()

    @property
    def is_open(self) -> bool:
        """Whether the user's last words may want something."""
        return self._open

    @property
    def has_done(self) -> bool:
        """Whether a write that the user asked for was made already."""
        return any(self.script.calls[position].demanded_by is None for position in self.done)

    @property
    def newcomer(self) -> str:
        """The first name of a user who has just signed in and was not spoken to since."""
        made = self._signed_in
        name = made.value.get("full_name") if made is not None and isinstance(made.value, dict) else None
        return name.split()[0] if isinstance(name, str) and name.strip() else ""

    def has_asked(self, act: Ask) -> bool:
        """Whether it has asked for something like that before."""
        kinds = {self.script.calls[position].kind == "auth" for position, _ in act.wanted}
        return bool(kinds & self._asked)

    def is_explained(self, position: int) -> bool:
        """Whether it has said already why a rule demands that call."""
        return position in self._explained

    def is_asked_again(self, act: Ask) -> bool:
        """Whether any of it was asked for in vain."""
        return any(self._fruitless[key] for key in act.wanted)

    def _at(self, position: int) -> Act | None:
        """What the call at a position needs; None where it is to be left out."""
        planned = self.script.calls[position]
        if self.conduct.gives_up(position):
            return self._resign("")
        missing = tuple(self._missing(position))
        if missing:
            return Ask(missing)
        need = self.script.need_at(position)
        is_guessing = need is not None and not self.conduct.asks_for(need)
        for name in planned.grounding:
            if not is_guessing and self._is_to_be_named(position, name):
                return Which(position, name)
        if need is not None and not is_guessing and self._is_open(position, need):
            return Clarify(position)
        wanted = self._wanted(position)
        if wanted is None or position in self.left:
            return None
        # Nobody has asked for what a rule demands: it takes a yes, whatever the tool.
        is_to_agree = planned.confirm or (planned.demanded_by is not None and planned.kind == "write")
        if is_to_agree and self.conduct.asks_first and position not in self._agreed:
            return Propose(position, self._proposed[position])
        if planned.kind != "read" or planned.tool == TRANSFER:
            return Do((position,), (wanted,))
        return self._reads(position)

    def _resign(self, complaint: str) -> Act:
        """Say that it did not work; whoever has said so hands over."""
        if not self._resigned:
            return GiveUp(complaint)
        summary = f"The user still waits for help. {complaint}".strip()
        return Do((), ((TRANSFER, {"reason": "user_request", "summary": summary}),))

    def _reads(self, position: int) -> Do:
        """This read with those behind it that wait for nothing."""
        found: list[tuple[int, Wanted]] = []
        while position < len(self.script.calls) and self.wishes.covers(position):
            planned = self.script.calls[position]
            if planned.kind != "read" or planned.tool == TRANSFER or self.conduct.gives_up(position):
                break
            if any(self._is_missing(position, name) for name in planned.from_user):
                break
            if found and is_bound(planned):
                break
            wanted = self._wanted(position)
            if wanted is None:
                break
            found.append((position, wanted))
            position += 1
        return Do(tuple(at for at, _ in found), tuple(wanted for _, wanted in found))

    def _wanted(self, position: int) -> Wanted | None:
        try:
            arguments = bound(self.script.calls[position], self.results)
        except LookupError:
            return None
        return self.conduct.call(position, self.script.calls[position], arguments, self.results)

    def _missing(self, position: int) -> Iterator[tuple[int, str]]:
        """What the user has to say first: to sign in, or up to the next write."""
        calls = self.script.calls
        for at in range(position, len(calls)):
            if at > position and calls[at].kind == "auth":
                return
            yield from ((at, name) for name in calls[at].from_user if self._is_missing(at, name))
            if calls[at].kind != "read":
                return

    def _is_missing(self, position: int, name: str) -> bool:
        planned = self.script.calls[position]
        if any(_is_of(need, planned.arguments[name]) and not self.conduct.asks_for(need) for need in self.script.needs):
            return False
        return self._fruitless[position, name] < FRUITLESS and not self.has_said(planned, name)

    def has_said(self, planned: PlannedCall, name: str) -> bool:
        """Whether the user has said an argument."""
        value, wording = planned.arguments[name], planned.wordings.get(name)
        return self.words.hold(value, cents=name.endswith("_cents")) or (bool(wording) and self.words.hold(wording))

    def _is_open(self, position: int, need: Need) -> bool:
        """Whether the user has said nothing since the request of what a call needs."""
        said = any(gives(text, fact) for text in self._heard[1:] for fact in need.facts)
        return not said and self._clarified[position] < FRUITLESS

    def _is_to_be_named(self, position: int, name: str) -> bool:
        if self._fruitless[position, name]:
            return False
        planned = self.script.calls[position]
        if not names_row(planned, name) and has_key(planned.grounding[name], self.script.calls):
            return False
        found = row_of(planned.grounding[name], self.results)
        return found is not None and is_unclear(found, self.words, self._known_values())

    def _known_values(self) -> list[Json]:
        """Names in rows that the user has made clear: whose scan it is, is known by the scan."""
        sources = {source for call in self.script.calls for source in call.grounding.values()}
        rows = [row_of(source, self.results) for source in sorted(sources)]
        clear = [found.row for found in rows if found is not None and not is_unclear(found, self.words)]
        return [value for row in clear for name, value in row.items() if name.endswith("_name") and value]

    def _conclude(self) -> Act:
        """Report what is new; decline what is forbidden; repeat it where the user asks on."""
        if self.script.kind == "refuse" and self.position >= len(self.script.calls):
            return Decline(self.conduct.rule(next(iter(self.script.banned), "")))
        done = tuple(position for position in self.done if position not in self._reported)
        facts = tuple(fact for fact in self._known_facts() if fact not in self._told)
        if done or facts:
            return Report(done, facts)
        if not self._open:
            return Part()
        if not self._reported and not self._told:
            return Greet()
        if self._recaps < RECAPS:
            return Report(tuple(self.done), tuple(self._known_facts()), again=True)
        return Part()

    def _known_facts(self) -> list[int]:
        """Facts that were asked for and found out."""
        over = self.position >= len(self.script.calls)
        return [
            fact
            for fact in range(len(self.script.facts))
            if self.wishes.asks_for(fact) and (over or self._is_found(fact)) and self.tells(fact) is not None
        ]

    def tells(self, fact: int) -> Json:
        """What it says of a fact; None: nothing."""
        return self.conduct.told(fact, self.script.facts[fact].values[0])

    def _is_found(self, fact: int) -> bool:
        return any(
            value in leaves(result) for value in self.script.facts[fact].values for result in self.results.values()
        )

    def _skip(self, position: int) -> None:
        """Go on without that call. What was left out by mistake is reported like the rest."""
        if self.script.calls[position].kind == "write" and position not in [*self.left, *self.done]:
            self.done.append(position)
        self.position += 1

    def _hear(self, text: str) -> None:
        self._heard.append(text)
        self.words = Words(self._heard)
        last, self._last = self._last, None
        self._open = not is_enough(text)
        offered = isinstance(last, Greet | Report) and self._open
        self.wishes.hear(self.words, invited=offered)
        if offered and self.left and not self._reopened:
            self._reopen()
        if isinstance(last, Ask):
            still = [key for key in last.wanted if self._is_missing(*key)]
            if len(still) == len(last.wanted):
                self._fruitless.update(still)
        elif isinstance(last, Which):
            self._fruitless[last.position, last.argument] += 1
        elif isinstance(last, Clarify):
            self._clarified[last.position] += 1
        elif isinstance(last, Propose):
            self._take_answer(last, text)

    def _reopen(self) -> None:
        """Put once more what was left, since the user still wants something."""
        self._reopened = True
        self.position = min(self.left)
        for position in self.left:
            self._proposed[position] = 1
        self.left.clear()

    def _take_answer(self, proposal: Propose, text: str) -> None:
        self._proposed[proposal.position] += 1
        if answer(text) == "yes":
            self._agreed.add(proposal.position)
        elif self._proposed[proposal.position] > RESTATED:
            self.left.append(proposal.position)

    def _took(self, act: Act, reaction: Reacted) -> None:
        """What was decided then, with what came of it. Where calls stand in the place of words, nothing was said."""
        if reaction.calls and not isinstance(act, Do):
            return
        self._last = act
        if isinstance(act, Do):
            self._made(act, reaction.calls)
        elif isinstance(act, Ask | Which | Clarify | Propose | Report):
            self._reported.update(act.done if isinstance(act, Report) else self.done)
        if isinstance(act, Ask):
            self._asked |= {self.script.calls[position].kind == "auth" for position, _ in act.wanted}
            self._explained |= {position for position, _ in act.wanted}
        if not isinstance(act, Do):
            self._signed_in = None
        self._resigned = self._resigned or isinstance(act, GiveUp)
        if isinstance(act, Report):
            self._told.update(act.facts)
            self._recaps += act.again

    def _made(self, act: Do, calls: Sequence[Made]) -> None:
        if not act.positions:
            self._extra += 1
            self._extra_done = any(made.ok for made in calls)
        again = [
            position
            for position, made in zip(act.positions, calls, strict=False)
            if made.is_to_be_repeated and self._makings[position] < MAKINGS
        ]
        self._makings.update(act.positions)
        for position, made in zip(act.positions, calls, strict=False):
            if position in again:
                continue
            if not made.ok and not self.conduct.shrugs(position):
                self.complaint = made.complaint or made.code
                return
            self.results[position] = made.value
            self._signed_in = made if self.script.calls[position].kind == "auth" else self._signed_in
            if self.script.calls[position].kind == "write":
                self.done.append(position)
            self.position = position + 1
        self.position = min([self.position, *again])

    @property
    def unreported(self) -> list[int]:
        """Writes that the user was not told of yet."""
        return [position for position in self.done if position not in self._reported]


def _is_of(need: Need, value: Json) -> bool:
    """Whether an argument is what was left out."""
    return any(fact.value == value for fact in need.facts)
