"""The words of agents with a script. What is said follows from the act; how, is drawn by the conversation's key."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import islice, permutations, product
from random import Random
from typing import Any

import yaml

from evaluator.checks.communicate import check_communicate
from rollout.offline.agents.oracle.acts import Act, Ask, Clarify, Decline, Do, GiveUp, Greet, Propose, Report, Which
from rollout.offline.agents.oracle.course import Course
from rollout.offline.agents.oracle.rows import (
    bound,
    describing,
    in_order_of_use,
    is_when,
    names_row,
    row_of,
    said_of,
)
from rollout.offline.agents.script import PlannedCall
from rollout.offline.agents.transcript import Transcript, words_of
from rollout.offline.agents.wording import ToolWords, hint, label, listed, sentence, spoken
from skillweave.schema.call import TRANSFER
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.world.replay import source_of

HINTS = 2
DETAILS = 2
"""Columns of a row that describe it."""
CHOICES = 4
"""Longest list of allowed values that is read out."""
WORDINGS = 400
"""Ways of telling the facts that are tried, until the user would take each for told."""
_OF = " of "
_COMPANY = re.compile(r"You are the assistant of (.+?)\.\s")
_TODAY = re.compile(r"Today is \w+, (\d{4})-")
_ASKING = re.compile(r"^(?:how|what|who|whom|why|where|which|whose)\b", re.IGNORECASE)
_SEARCHED = re.compile(r"^(?:from_|to_|on_)?(?:date|day)$")
_OWN = re.compile(r"(?:^|_)(?:my|own)_")
_TAIL = re.compile(r", in cents\b|, digits only\b")


class Speech:
    def __init__(self, course: Course, transcript: Transcript, random: Random) -> None:
        self._course = course
        self._transcript = transcript
        self._random = random
        found = _TODAY.search(transcript.system)
        self._year = int(found[1]) if found else None

    def words(self, act: Act) -> str:
        """What is said with an act."""
        match act:
            case Greet():
                company = _COMPANY.search(self._transcript.system)
                return self._drawn("greet", company=company[1] if company else "us")
            case Ask():
                return self._news() + self._question(act)
            case Which():
                return self._news() + self._which(act)
            case Clarify():
                return self._news() + self._clarification(act)
            case Propose():
                return self._news() + self._proposal(act)
            case Do():
                return self._beside(act)
            case Report():
                return self._report(act)
            case Decline():
                return self._refusal(act)
            case GiveUp():
                return (
                    self._drawn("give_up", complaint=act.complaint)
                    if act.complaint
                    else self._drawn("give_up_careless")
                )
            case _:
                return self._drawn("stuck" if self._course.is_open else "part")

    def _drawn(self, kind: str, **values: str) -> str:
        return self._random.choice(phrases()[kind]).format(**values).strip()

    def _news(self) -> str:
        """What was done since the user last heard of it."""
        told = [
            self._of_done(position, "done_more" if at else "done")
            for at, position in enumerate(self._course.unreported)
        ]
        if not told and self._course.newcomer:
            told = list(filter(None, [self._drawn("signed_in", name=self._course.newcomer)]))
        return " ".join(told) + " " * bool(told)

    def _question(self, act: Ask) -> str:
        course = self._course
        kinds = {course.script.calls[position].kind for position, _ in act.wanted}
        wanted = listed(list(dict.fromkeys(self._named(*key) for key in act.wanted)))
        unexplained = [at for at, _ in act.wanted if not course.is_explained(at)]
        demanded = [at for at in unexplained if course.script.calls[at].needed_for is not None][:1]
        if demanded and not course.is_asked_again(act):
            return self._demand("demanded", demanded[0]) + " " + self._drawn("ask", wanted=wanted)
        companies = {course.script.calls[at].company for at, _ in act.wanted}
        if kinds != {"auth"} and len(companies) == 1 and all(companies):
            wanted += f", for {companies.pop()}"
        if course.is_asked_again(act):
            return self._random.choice(phrases()["again"]) + self._drawn("ask", wanted=wanted)
        if kinds == {"auth"}:
            return self._drawn("rest" if course.has_asked(act) else "sign_in", wanted=wanted)
        return self._drawn("ask_more" if course.has_asked(act) else "ask", wanted=wanted)

    def _named(self, position: int, name: str) -> str:
        """What a parameter asks for: `your date of birth`, `the method (how it is paid: by card or bank transfer)`."""
        planned = self._course.script.calls[position]
        parameter = planned.parameters[name]
        if planned.kind == "auth":
            return f"your {'phone number' if name == 'phone' else label(name)}"
        if planned.kind == "read" and _SEARCHED.search(name):
            return "the day that you have in mind" if not name.startswith("to_") else "the last day that suits you"
        about = _TAIL.sub("", parameter.description).strip().rstrip(".")
        values = parameter.enum if parameter.enum and len(parameter.enum) <= CHOICES else []
        choices = listed([spoken(value, name, year=None, random=self._random) for value in values], "or")
        if _ASKING.match(about):
            return f"the {label(name)} ({choices or about[0].lower() + about[1:]})"
        if set(label(name).split()) & set(about.lower().split()):
            return _with_article(about) + f" ({choices})" * bool(choices)
        return f"the {label(name)}, that is {_with_article(about)}" + f" ({choices})" * bool(choices)

    def _which(self, act: Which) -> str:
        planned = self._course.script.calls[act.position]
        found = row_of(planned.grounding[act.argument], self._course.results)
        assert found is not None
        noun = label(act.argument)
        hints = list(dict.fromkeys(hint(name) for name in describing(found)))
        hints = [one for one in hints if one != f"the {noun}"][:HINTS]
        if not hints:
            return self._drawn("which_plainly", noun=noun)
        return self._drawn("which", noun=noun, hints=listed(hints, "or"))

    def _proposal(self, act: Propose) -> str:
        if not act.again and self._course.script.calls[act.position].needed_for is not None:
            return self._demand("propose_demanded", act.position)
        kind = "propose_again" if act.again else "propose_next" if self._course.has_done else "propose"
        details = self._details(act.position, with_values=True, said_only=act.again > 0)
        return self._drawn(kind, doing=self._tool(act.position).doing, details=details)

    def _demand(self, kind: str, position: int) -> str:
        """What a rule wants done first, and before what."""
        planned = self._course.script.calls[position]
        assert planned.needed_for is not None
        return self._drawn(
            kind,
            rule=planned.demanded_by or "",
            company=planned.company,
            doing=self._tool(position).doing,
            details=self._details(position, with_values=True),
            purpose=self._tool(planned.needed_for).doing,
        )

    def _tool(self, position: int) -> ToolWords:
        planned = self._course.script.calls[position]
        main = self._main(planned)
        return ToolWords(planned.plain, list(planned.parameters) if main is None else [f"{_noun(planned)}_id"])

    def _main(self, planned: PlannedCall) -> str | None:
        """The argument that names what the tool's noun is: `test_order_id` of `move_test`, if it is theirs."""
        noun = label(f"{_noun(planned)}_id")
        for name, source in planned.grounding.items():
            read = source_of(source)
            is_own = read is not None and _OWN.search(self._course.script.calls[read.call].plain) is not None
            if label(name) == noun or (is_own and label(name).startswith(f"{noun} ")):
                return name
        return None

    def _details(self, position: int, *, with_values: bool, said_only: bool = False) -> str:
        """The rows, and the user's values, that a call is about: ` of 6 March at 09:30, by card (level: small)`."""
        planned = self._course.script.calls[position]
        tail, others = "", []
        for name, source in planned.grounding.items():
            if source == "user" and with_values:
                value = self._spoken(planned.arguments[name], name)
                if name == "method":
                    tail += f", by {value}"
                else:
                    others.append(f"{label(name)}: {value}")
            elif source != "user" and names_row(planned, name):
                others += self._row(planned, name, said_only=said_only)
            elif source != "user" and with_values:
                others += self._value_of_row(planned, name, said_only=said_only)
        main = [part for part in others if part.startswith(_OF)]
        shown = "; ".join(dict.fromkeys(part for part in others if part not in main))
        return "".join(main) + (f" ({shown})" if shown else "") + tail

    def _row(self, planned: PlannedCall, name: str, *, said_only: bool) -> list[str]:
        """What tells a row: ` of 6 March at 09:30` of the tool's own noun, `slot: 6 March at 09:30` of another."""
        found = row_of(planned.grounding[name], self._course.results)
        if found is None:
            return []
        columns = in_order_of_use(found.row, said_of(found.row, self._course.words))[:DETAILS]
        if not columns and not said_only:
            columns = describing(found)[:1]
        dates = [self._spoken(found.row[column], column) for column in columns if is_when(found.row[column])]
        names = [self._spoken(found.row[column], column) for column in columns if not is_when(found.row[column])]
        if name != self._main(planned):
            parts = ", ".join([*names, *dates])
            return [f"{label(name).removesuffix(' reference')}: {parts}"] if parts else []
        return [*([", ".join(names)] if names else []), *([_OF + dates[0]] if dates else [])]

    def _value_of_row(self, planned: PlannedCall, name: str, *, said_only: bool) -> list[str]:
        """A value that comes from a result: `amount: 85.00`. Days that the user has not said would only puzzle them."""
        try:
            value = bound(planned, self._course.results)[name]
        except LookupError:
            return []
        is_said = self._course.words.hold(value, cents=name.endswith("_cents"))
        is_shown = is_said or not (said_only or is_when(value))
        is_from_result = source_of(planned.grounding[name]) is not None
        return [f"{label(name)}: {self._spoken(value, name)}"] if is_from_result and is_shown else []

    def _spoken(self, value: Json, name: str) -> str:
        return spoken(value, name, year=self._year, random=self._random)

    def _clarification(self, act: Clarify) -> str:
        """Asks which row is meant, or for the value."""
        planned, need = self._course.script.calls[act.position], self._course.script.need_at(act.position)
        assert need is not None
        thing, _, column = need.facts[0].id.rpartition(".") if need.facts else ("", "", "")
        if thing == planned.plain and column in planned.parameters:
            return self._drawn("ask", wanted=self._named(act.position, column))
        hints = listed(list(dict.fromkeys(hint(fact.id.rpartition(".")[2]) for fact in need.facts))[:HINTS], "or")
        noun = thing.replace("_", " ")
        return self._drawn("which", noun=noun, hints=hints) if hints else self._drawn("which_plainly", noun=noun)

    def _beside(self, act: Do) -> str:
        if [tool for tool, _ in act.calls] == [TRANSFER] and act.positions:
            return self._drawn("handing_over")
        kinds = {self._course.script.calls[position].kind for position in act.positions}
        return self._drawn("doing" if "write" in kinds else "checking")

    def _of_done(self, position: int, kind: str) -> str:
        tool = self._tool(position)
        details = self._details(position, with_values=False)
        # `Your flight has been booked of 7 April` is nothing that people say.
        passive = f"I have {tool.done}" if details.strip().startswith(_OF.strip()) else tool.passive
        passive_low = passive if passive.startswith("I ") else passive[0].lower() + passive[1:]
        return sentence(self._drawn(kind, done=tool.done, passive=passive, passive_low=passive_low, details=details))

    def _report(self, act: Report) -> str:
        parts = [self._drawn("recap")] if act.again and (act.done or act.facts) else []
        first = "done_plain" if act.again else "done"
        parts += [self._of_done(position, "done_more" if at else first) for at, position in enumerate(act.done)]
        parts += [self._drawn("left", doing=self._tool(position).doing) for position in self._course.left]
        told = self._facts(act.facts, " ".join(parts))
        return " ".join([*parts, *told, self._drawn("more")])

    def _facts(self, facts: Sequence[int], before: str) -> list[str]:
        """The facts, each in a sentence, so worded that none spoils another."""
        if not facts:
            return []
        script, said = self._course.script, words_of(self._transcript.messages)
        templates = self._random.sample(phrases()["fact"], len(phrases()["fact"])) + phrases()["plain_fact"]
        first: list[str] | None = None
        tries = product(permutations(facts), product(templates, repeat=len(facts)))
        for order, chosen in islice(tries, WORDINGS):
            told = [
                sentence(template.format(noun=script.facts[fact].noun, value=self._value(fact)))
                for fact, template in zip(order, chosen, strict=True)
            ]
            words = Message(role="assistant", content=" ".join([before, *told]))
            missing = check_communicate(script.facts, [*said, words]).missing
            if not {script.facts[fact].fact for fact in facts} & set(missing):
                return told
            first = first or told
        return first or []

    def _value(self, fact: int) -> str:
        told = self._course.script.facts[fact]
        return self._spoken(self._course.tells(fact), "_cents" if told.unit == "cents" else "")

    def _refusal(self, act: Decline) -> str:
        rule = act.rule
        if not rule:
            return self._drawn("decline_plainly")
        found = re.search(rf"\[{re.escape(rule)}\]\s*(.+?)(?=\s*\[[RB]\d+\]|\n|$)", self._transcript.system)
        return self._drawn("decline", rule=rule, says=found[1] if found else "")


def _noun(planned: PlannedCall) -> str:
    return ToolWords(planned.plain).noun.replace(" ", "_")


def _with_article(about: str) -> str:
    words = about[0].lower() + about[1:]
    return words if words.split()[0] in ("the", "a", "an", "your", "new") else f"the {words}"


@cache
def phrases() -> Mapping[str, list[str]]:
    """All phrases, by kind."""
    loaded: dict[str, Any] = yaml.safe_load(
        files("rollout.offline.agents.oracle").joinpath("phrases.yaml").read_text("utf-8")
    )
    return loaded
