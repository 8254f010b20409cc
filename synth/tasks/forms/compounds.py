"""Compounds: several templates of one split as one, of what one person has together.

A compound grows part by part, on the data, as long as its person has all of it; what goes deep is its core.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from random import Random
from typing import NamedTuple

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.task import Split
from skillweave.schema.template import RequestedValue, TaskTemplate, TemplateCall
from synth.contracts.visibility import column_origins
from synth.tasks.kinds.recipe import AbleToAsk

LEAST_PARTS, SIZES = 3, 6
"""Parts of a compound, at least, where there are enough families for it, and in how many sizes compounds come."""
FEWEST_PARTS = 2
"""Parts of a compound, at least, where a split has few families."""
FEW_FAMILIES = 6
"""So many families are not few."""
DECLINED_SHARE = 0.2
"""How often a compound is to have a part that is declined."""
COMMON = frozenset({"choice", "condition", "aggregate", "comparison", "false_premise", "pressure", "batch", "what_if"})
"""Forms of which many people can have a request."""
FORMED_SHARE = {"do": 0.7, "inform": 0.6, "refuse": 0.6}
"""Kind -> how often a part of a compound is in a form of its own. Few people err in all that they ask."""
CORE = 2
"""Parts of a compound that turn on an outcome or have a catch, at most."""
QUESTION_OF = 3
"""Of so many parts one may be a question, beside a first one."""
PERSONS_TRIED = 3
"""Persons who are tried for one compound; whoever has most of it is taken."""
TURNS = 3
"""How often each family is tried for one compound."""
MOST_DRAWN = 3
"""Templates of a family that are tried as a part, of those that have a form, and of the plain ones."""
OTHER_PERSONS = 2
"""Persons beside the one for whom a compound is made who are tried for it."""

_REASONS = [
    "I've got a few things to sort out.",
    "There are a few things I've been putting off.",
    "I'd like to get a few things done in one go.",
    "I'm going through my paperwork today.",
    "A few things have piled up.",
    "I'm catching up on my admin today.",
    "I'm working through my to-do list.",
    "I've got a couple of things, so I thought I'd do them all at once.",
]
"""Why people come with several requests."""

_COLUMN = re.compile(r"\w+(?=\)?$)")
"""The column at the end of a source: `1.invoice_id`, `date(1.starts_at)`."""
SplitOf = Callable[[Sequence[TaskTemplate]], Mapping[str, Split]] | None


def families_by_split(goals: Sequence[TaskTemplate], split_of: SplitOf) -> list[list[list[TaskTemplate]]]:
    """The families of templates that can be put together, by split: no compound is in two."""
    splits = split_of(goals) if split_of else {}
    groups: dict[str | None, dict[str, list[TaskTemplate]]] = {}
    for goal in goals:
        if goal.kind in ("do", "inform", "refuse") and {*goal.forms} <= COMMON:
            groups.setdefault(splits.get(goal.id), {}).setdefault(goal.base or goal.id, []).append(goal)
    return [[*families.values()] for families in groups.values()]


def least_parts(group: Sequence[list[TaskTemplate]]) -> int:
    """Parts of a compound of some families, at least."""
    return LEAST_PARTS if len(group) >= FEW_FAMILIES else FEWEST_PARTS


def grown_parts(
    group: Sequence[list[TaskTemplate]],
    least: int,
    size: int,
    random: Random,
    able: AbleToAsk | None,
    blueprint: Blueprint,
) -> tuple[list[TaskTemplate], list[str]]:
    """Parts of a compound, as many as one person has together up to a size, with that person and a few others.

    Deeds and questions; what is declined comes last. No part says `that invoice` where an earlier one has one, too.
    """
    most: list[TaskTemplate] = []
    whose = ""
    for person in random.sample(able.persons, min(len(able.persons), PERSONS_TRIED)) if able else [""]:
        parts = _parts_of_person(group, size, random, _Asking(person, able, least) if able else None, blueprint)
        if len(parts) > len(most):
            most, whose = parts, person
        if len(most) == size:
            break
    others = random.sample(able.persons, min(len(able.persons), OTHER_PERSONS)) if able else []
    return most, list(dict.fromkeys([whose, *others])) if able and most else []


def _parts_of_person(
    group: Sequence[list[TaskTemplate]], size: int, random: Random, asking: "_Asking | None", blueprint: Blueprint
) -> list[TaskTemplate]:
    """Parts that one person has together, up to a size; none if they do not go together."""
    questions = 1 + random.randrange(1 + size // QUESTION_OF)
    wanted = ["do"] * (size - 1) + ["inform"] * questions + ["refuse"] * (random.random() < DECLINED_SHARE)
    parts: list[TaskTemplate] = []
    families = random.sample(group, len(group))
    # What goes deep is the core; whatever else the person has goes with it.
    for turn, family in ((turn, family) for turn in range(TURNS) for family in families):
        is_core = turn == 0
        # A deed may be asked about, too: what would it cost?
        kinds = [kind for kind in wanted if any(one.kind == kind for one in family)]
        is_taken = any((part.base or part.id) == (family[0].base or family[0].id) for part in parts)
        if not kinds or is_taken or len(parts) >= (CORE if is_core else size):
            continue
        kind = random.choice(kinds)
        forms = {form for part in parts for form in part.forms}
        for part in _drawn([one for one in family if one.kind == kind], forms, random, is_core=is_core):
            longer = _in_order([*parts, part])
            if is_plain_what_is_meant(longer, blueprint) and (asking is None or asking.have(longer, part)):
                parts = longer
                wanted.remove(kind)
                break
    return parts if asking is None or (go_together(parts, asking.least) and asking.have_all(parts)) else []


def is_plain_what_is_meant(parts: Sequence[TaskTemplate], blueprint: Blueprint) -> bool:
    """Whether no part takes over what an earlier part's deed results in, too, or does what it does to no certain row.

    Nobody could tell which is meant; and nobody pays off a part of a balance, and then another.
    """
    shown: set[str] = set()
    done: set[str] = set()
    for part in parts:
        sources = [source for call in part.calls for source in call.same.values()]
        if not shown.isdisjoint(column for source in sources for column in _COLUMN.findall(source)):
            return False
        writes = [tool for call in part.calls if (tool := blueprint.tool(call.tool)).kind == "write"]
        shown |= {column for tool in writes for column in column_origins(tool)}
        of_no_row = {tool.name for tool in writes if not any(one.refers_to for one in tool.parameters)}
        if not done.isdisjoint(of_no_row):
            return False
        done |= of_no_row
    return True


def _in_order(parts: Sequence[TaskTemplate]) -> list[TaskTemplate]:
    """Parts in the order in which they are wanted: the plainest deed, the others, questions, what is declined."""
    deeds = (part for part in parts if part.kind == "do")
    first = min(deeds, key=lambda part: (len(part.forms), len(part.calls)), default=None)
    ranks = {"do": 1, "inform": 2}
    return sorted(_clear(parts), key=lambda part: 0 if first and part.id == first.id else ranks.get(part.kind, 3))


class _Asking(NamedTuple):
    """A person whose compound grows."""

    person: str
    able: AbleToAsk
    least: int
    """Parts that the compound is to have, at least."""

    def have(self, parts: Sequence[TaskTemplate], new: TaskTemplate) -> bool:
        """Whether somebody who has all parts but the new one has them all together."""
        if not self.able(new, [self.person]):
            return False
        # Several questions may take a single look-up: what else is wanted will tell.
        is_open = len(parts) < self.least or all(part.kind == "inform" for part in parts)
        return is_open or (go_together(parts, self.least) and self.have_all(parts))

    def have_all(self, parts: Sequence[TaskTemplate]) -> bool:
        """Whether they have all parts together."""
        return bool(self.able(compound(parts), [self.person]))


def _drawn(
    family: Sequence[TaskTemplate], taken: Collection[str], random: Random, *, is_core: bool
) -> list[TaskTemplate]:
    """Some templates of a family, of one kind, to be tried in turn; often forms that no other part has come first.

    Args:
        is_core: Whether only what goes deep will do.
    """
    formed_ones = [template for template in family if template.forms and not {*template.forms} & {*taken}]
    groups = [[one for one in formed_ones if is_deep(one)]]
    if not is_core:
        groups = [formed_ones, [template for template in family if not template.forms]]
    orders = [random.sample(ones, min(len(ones), MOST_DRAWN)) for ones in groups]
    is_formed = bool(family) and random.random() < FORMED_SHARE[family[0].kind]
    return [*chain(*(orders if is_formed else reversed(orders)))]


def is_deep(template: TaskTemplate) -> bool:
    """Whether a request turns on what the policy makes of the records: an outcome, or several rows at once."""
    form, detail = template.forms[-1], template.form_detail
    is_foreseen = (form == "choice" and bool(detail)) or (form == "condition" and " " in detail)
    return bool({*template.forms} & {"what_if", "batch"}) or is_foreseen


def _clear(parts: Sequence[TaskTemplate]) -> list[TaskTemplate]:
    """Parts of which no deed asks for a result: beside other requests it would not be clear of which."""
    silent = {part.id for part in parts if part.kind != "inform" and "false_premise" not in part.forms}
    return [part.model_copy(update={"tell": []}) if part.id in silent else part for part in parts]


def go_together(parts: Sequence[TaskTemplate], least: int) -> bool:
    """Whether requests can be made in one conversation: at most one is declined, and something is done beside it.

    Of a deed beside other requests nobody asks for a result.

    Args:
        least: Parts of a compound, at least.
    """
    deeds = [part for part in parts if part.kind != "inform"]
    declined = sum(bool(part.forbidden) for part in parts)
    is_clear = not any(part.tell for part in deeds) and not _same_deed_for_several(parts)
    return len(parts) >= least and is_clear and declined < 2 and (len(deeds) > declined or not declined)


def _same_deed_for_several(parts: Sequence[TaskTemplate]) -> bool:
    """Whether one part wants something for several rows that another part wants, too: nobody would tell them apart."""
    several = [part for part in parts if part.focus and {*part.forms} & {"batch", "what_if"}]
    return any(
        other is not part and part.calls[0].tool in [call.tool for call in other.calls]
        for part in several
        for other in parts
    )


def compound(parts: Sequence[TaskTemplate], persons: Collection[str] = ()) -> TaskTemplate:
    """One template of several: their calls one after the other.

    Args:
        persons: Who has an instance of each, if that is known.
    """
    first = parts[0]
    server, names = first.id.partition("/")[0], [part.id.partition("/")[2] for part in parts]
    calls: list[TemplateCall] = []
    tell: list[RequestedValue] = []
    for part in parts:
        tell += [one.model_copy(update={"call": one.call + len(calls)}) for one in part.tell]
        calls += part.calls
    forms = [form for form in dict.fromkeys(form for part in parts for form in part.forms) if form != "pressure"]
    shared = {"lookups": first.lookups, "referred_by": first.referred_by}
    lean = [
        part.model_copy(update={name: {} for name, value in shared.items() if getattr(part, name) == value})
        for part in parts
    ]
    return first.model_copy(
        update={
            "id": f"{server}/errands_{'_and_'.join(names)}",
            "kind": "do" if any(part.kind in ("do", "refuse") for part in parts) else "inform",
            "base": first.base or first.id,
            "title": "; ".join(part.title for part in parts),
            "calls": calls,
            "tell": tell,
            "reasons": _REASONS,
            "forms": [*forms, "errands"],
            "forbidden": next((part.forbidden for part in parts if part.forbidden), None),
            "focus": None,
            "form_detail": "",
            "parts": lean,
            "persons": sorted(persons),
        }
    )


def parts_of(template: TaskTemplate) -> list[TaskTemplate]:
    """The templates that a compound consists of, whole."""
    shared = {"lookups": template.lookups, "referred_by": template.referred_by}
    return [
        part.model_copy(update={name: value for name, value in shared.items() if not getattr(part, name)})
        for part in template.parts
    ]
