"""Forms of request, and their registry: how people put what they want. A kind of task may come in any form.

`FORMS` lists them in the order in which their templates are derived: later ones may build on earlier ones.
"""

from collections.abc import Sequence

from skillweave.plugins import Registry
from skillweave.schema.template import TaskTemplate
from synth.tasks.forms.aggregate import AggregateForm
from synth.tasks.forms.answers import ComparisonForm, FalsePremiseForm
from synth.tasks.forms.batch import BatchForm
from synth.tasks.forms.change_of_mind import ChangeOfMindForm
from synth.tasks.forms.choice import ChoiceForm
from synth.tasks.forms.condition import ConditionForm
from synth.tasks.forms.declines import FallbackForm, PressureForm
from synth.tasks.forms.errands import ErrandsForm
from synth.tasks.forms.form import FormRecipe, FormSetting
from synth.tasks.forms.what_if import WhatIfForm
from synth.tasks.kinds import TemplateSource, derived_templates

__all__ = ["FORMS", "FormRecipe", "FormSetting", "form_templates", "templates_from"]

FORMS: Registry[FormRecipe] = Registry(
    "form of request",
    {
        "choice": ChoiceForm(),
        "condition": ConditionForm(),
        "fallback": FallbackForm(),
        "batch": BatchForm(),
        "aggregate": AggregateForm(),
        "comparison": ComparisonForm(),
        "what_if": WhatIfForm(),
        "false_premise": FalsePremiseForm(),
        "change_of_mind": ChangeOfMindForm(),
        "pressure": PressureForm(),
        "errands": ErrandsForm(),
    },
)


def templates_from(goals: Sequence[TaskTemplate], source: TemplateSource) -> list[TaskTemplate]:
    """Goals, with the templates of other kinds that follow from them, and those in other forms."""
    templates = [*goals, *derived_templates(goals, source)]
    return [*templates, *form_templates(templates, source)]


def form_templates(templates: Sequence[TaskTemplate], source: TemplateSource) -> list[TaskTemplate]:
    """The templates in some form that follow from the plain ones of a world."""
    derived: dict[str, TaskTemplate] = {}
    for recipe in FORMS.values():
        for template in recipe.templates([*templates, *derived.values()], source):
            derived.setdefault(template.id, template)
    return [*derived.values()]
