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
from synth.tasks.kinds import Instance, TemplateSource

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
        """An instance of each part, each made after the golden calls of those before it."""
        instance = Instance()
        for part in parts_of(setting.template):
            instance = joined(instance, setting.after(instance.golden).plain(part))
        _put_off(setting, instance)
        instance.results = setting.run(instance.golden)
        add_form(instance, "errands")
        return instance

    def proof(self, world: World, combination: Combination, form: RequestForm) -> Figures:
        """How many of the template's calls there are. The other gates see all requests together."""
        return {"calls": len(combination.steps)}


def _drawn(family: Sequence[TaskTemplate], number: int, random: Random) -> TaskTemplate:
    """A template of a family: two times of three one in a form that many can have, if there are any."""
    formed_ones = [template for template in family if template.forms and {*template.forms} <= COMMON]
    return random.choice(formed_ones if formed_ones and number % 3 else [*family])


def _fewer_deeds(parts: Sequence[TaskTemplate]) -> list[TaskTemplate]:
    """Parts of which two at most are deeds: few people have more in hand. What is to be declined comes last."""
    deeds = [part for part in parts if part.kind != "inform"]
    kept = [part for part in parts if part.kind == "inform" or part in deeds[:MOST_DEEDS]]
    return sorted(kept, key=lambda part: bool(part.forbidden))


def _go_together(parts: Sequence[TaskTemplate]) -> bool:
    """Whether requests can be made in one conversation: at most one is declined, and something is done beside it."""
    declined = sum(bool(part.forbidden) for part in parts)
    later = sum("change_of_mind" in part.forms for part in parts[:-1])
    is_done = any(part.kind == "do" and not part.forbidden for part in parts)
    return len(parts) > 1 and not later and declined < 2 and (is_done or not declined)


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
