"""Form `errands`: several requests of one person in one conversation, of different templates, plain or in other forms.

The last one may come later, once the others are done. Each is made in the state that those before it have left.
"""

from collections.abc import Iterator, Sequence
from random import Random

from skillweave.schema.combination import Combination
from skillweave.schema.criteria import RequestForm
from skillweave.schema.template import RequestedValue, TaskTemplate, TemplateCall
from skillweave.world.world import World
from synth.tasks.forms.form import (
    Figures,
    FormRecipe,
    FormSetting,
    add_form,
    change_terms,
)
from synth.tasks.forms.joining import joined
from synth.tasks.kinds import Instance, NoInstance, TemplateSource

LATER_SHARE = 0.35
"""How often the last errand comes out later."""
TOGETHER = 4
"""Families of templates whose requests are put together; they share a split."""
MOST_DEEDS = 2
"""Parts of a compound that want something done, at most; one of them may be a batch."""
COMMON = frozenset({"choice", "condition", "aggregate", "comparison", "false_premise", "pressure"})
"""Forms of which many people can have a request."""
COMPOUNDS = 14
"""Compounds of such families."""


class ErrandsForm(FormRecipe):
    """Two to four requests at once."""

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> Iterator[TaskTemplate]:
        """Compounds of templates of a few families that stand together, so that they can share a split."""
        # Of the stories of a fused world, which are long by themselves, hardly anybody has two.
        if source.bridge_rules is not None:
            return
        fitting = [goal for goal in goals if goal.kind in ("do", "inform", "refuse") and "errands" not in goal.forms]
        families: dict[str, list[TaskTemplate]] = {}
        for template in fitting:
            families.setdefault(template.base or template.id, []).append(template)
        random = Random(f"{source.blueprint.server}/errands")
        names = random.sample(sorted(families), len(families))
        for start in range(0, len(names), TOGETHER):
            group = [families[name] for name in names[start : start + TOGETHER]]
            for number in range(COMPOUNDS):
                chosen = random.sample(group, min(2 + number % 3, len(group)))
                parts = _fewer_deeds([_drawn(family, number, random) for family in chosen])
                if _go_together(parts):
                    yield compound(parts)

    def instance(self, setting: FormSetting) -> Instance:
        """An instance of each part, each made after the golden calls of those before it.

        Raises:
            NoInstance: A part speaks of what another one makes, or an answer depends on which comes first.
        """
        instance = Instance()
        answers: list[Instance] = []
        for part in parts_of(setting.template):
            made = setting.after(instance.golden).plain(part)
            _check_known(setting, instance, made)
            answers += [made] if part.kind == "inform" else []
            instance = joined(instance, made)
        for made in answers:
            _check_lasting(setting, instance, made)
        _put_off(setting, instance)
        instance.results = setting.run(instance.golden)
        add_form(instance, "errands")
        return instance

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """How many of the template's calls there are. The other gates see all requests together."""
        return {"calls": len(combination.steps)}


def _drawn(family: Sequence[TaskTemplate], number: int, random: Random) -> TaskTemplate:
    """A template of a family: two times of three one in a form that many can have, if there are any."""
    fitting = [template for template in family if {*template.forms} <= COMMON] or [*family]
    formed_ones = [template for template in fitting if template.forms]
    return random.choice(formed_ones if formed_ones and number % 3 else fitting)


def _fewer_deeds(parts: Sequence[TaskTemplate]) -> list[TaskTemplate]:
    """Parts of which two at most are deeds: few people have more in hand. What is to be declined comes last."""
    deeds = [part for part in parts if part.kind != "inform"]
    kept = [part for part in parts if part.kind == "inform" or part in deeds[:MOST_DEEDS]]
    return sorted(kept, key=lambda part: bool(part.forbidden))


def _go_together(parts: Sequence[TaskTemplate]) -> bool:
    """Whether requests can be made in one conversation: at most one is declined, and something is done beside it.

    Of two deeds nobody asks for a result: it would not be clear of which.
    """
    deeds = [part for part in parts if part.kind == "do" and not part.forbidden]
    declined = sum(bool(part.forbidden) for part in parts)
    is_clear = len(deeds) < 2 or not any(part.tell for part in deeds)
    return len(parts) > 1 and is_clear and declined < 2 and (bool(deeds) or not declined)


def _check_known(setting: FormSetting, before: Instance, made: Instance) -> None:
    """Check that a part names no row that those before it make: who writes the first message does not know it."""
    new = {key for result in setting.run(before.golden) for key in result.minted}
    if any(row.key in new for row in made.rows):
        raise NoInstance("a request names what another one makes")


def _check_lasting(setting: FormSetting, whole: Instance, made: Instance) -> None:
    """Check that a question has the same answer before all deeds and after them."""
    first, last = setting.run(made.golden), setting.after(whole.golden).run(made.golden)
    if [result.value for result in first] != [result.value for result in last]:
        raise NoInstance("an answer depends on what is done first")


def compound(parts: Sequence[TaskTemplate]) -> TaskTemplate:
    """One template of several: their calls one after the other."""
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
            "forms": [*forms, "errands"],
            "forbidden": next((part.forbidden for part in parts if part.forbidden), None),
            "focus": None,
            "form_detail": "",
            "parts": lean,
        }
    )


def parts_of(template: TaskTemplate) -> list[TaskTemplate]:
    """The templates that a compound consists of, whole."""
    shared = {"lookups": template.lookups, "referred_by": template.referred_by}
    return [
        part.model_copy(update={name: value for name, value in shared.items() if not getattr(part, name)})
        for part in template.parts
    ]


def _put_off(setting: FormSetting, instance: Instance) -> None:
    """Let the user come out with the last request later, in some of the instances in which nothing is later yet."""
    last = setting.template.parts[-1]
    start = len(setting.template.calls) - len(last.calls)
    is_deed = setting.tool(last.calls[0].tool).kind == "write" and not last.forbidden
    is_free = not any(terms.later for terms in instance.terms) and is_deed
    if is_free and setting.random.random() < LATER_SHARE:
        for call in range(start, len(setting.template.calls)):
            change_terms(instance, call, later="after_report")
