"""Instances of a template in whatever form: the builder makes plain ones, the recipes of forms the others."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from skillweave.schema.combination import Calculation
from skillweave.schema.contract import RowChange
from skillweave.schema.criteria import Course, GoldenCall, RequestForm
from skillweave.schema.template import TaskTemplate
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.tasks.builder import InstanceBuilder
from synth.tasks.forms import FORMS
from synth.tasks.forms.form import FormSetting, literal
from synth.tasks.forms.joining import with_open_places
from synth.tasks.kinds import Instance, NoInstance
from synth.tasks.replay import make_calls

MOST_BACKTRACKS = 16
"""Calls that may be undone, in a fused world, to find an instance for one caller."""


def builder_of(
    world: World, template: TaskTemplate, session: ContractSession, random: Random, *, alone: bool
) -> InstanceBuilder:
    """A builder of plain instances in a session, which it changes."""
    backtracks = MOST_BACKTRACKS if len(world.blueprint.roles) > 1 else 0
    return InstanceBuilder(world, template, session, random, alone=alone, backtracks=backtracks)


def formed_instance(setting: FormSetting, template: TaskTemplate, *, alone: bool) -> Instance:
    """An instance of a template in its last form; without any form, a plain one."""
    if template.forms:
        return FORMS[template.forms[-1]].instance(replace(setting, template=template))
    with setting.open() as session:
        instance = builder_of(setting.world, template, session, setting.random, alone=alone).build()
    return with_open_places(instance)


def signed_in(form: RequestForm, signing_in: Sequence[GoldenCall]) -> RequestForm:
    """A form whose courses sign the user in first."""

    def longer(courses: Sequence[Course]) -> list[Course]:
        return [course.model_copy(update={"calls": [*literal(signing_in), *course.calls]}) for course in courses]

    return form.model_copy(update={"wrong": longer(form.wrong), "right": longer(form.right)})


def with_shift(question: Calculation, shift: int) -> Calculation:
    """A calculation whose golden calls come so many places later."""
    return question.model_copy(
        update={
            "call": question.call + shift,
            "rows": [row.model_copy(update={"call": row.call + shift}) for row in question.rows],
        }
    )


def end_state(world: World, caller: str, patch: Sequence[RowChange], course: Sequence[GoldenCall]) -> list[RowChange]:
    """What a course changes. NoInstance: one of its calls does not go through."""
    with world.session(caller=caller, patch=patch) as session:
        if not all(result.ok and not result.violations for result in make_calls(session, course)):
            raise NoInstance("the calls cannot be made in that form")
        return session.canonical()
