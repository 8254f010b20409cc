"""Gate: what the form of a request turns on is decided by what reads show.

Each form has a proof of its own (`synth.tasks.forms`): the row that is meant is the only first one of its kind, a
condition lies on the side that the task says, the words for several rows fit those and no others, a sum or a difference
is what is told. The courses that a form invites are among the variants that the evaluator must fail or pass.
"""

from skillweave.schema.record import Json
from synth.gates.gate import Gate, JudgedCombination
from synth.tasks.forms import FORMS
from synth.tasks.replay import Rejected

GATE = Gate(
    name="forms",
    proves="What the form of the request turns on is decided by what reads show, in one way.",
    runs="The reads behind it, with their optional arguments in every way: the same rows, values and order follow.",
    figures={
        "forms.choice": "`rows_to_choose_from`: rows among which the golden one is the only first",
        "forms.condition": "`conditions` decided by a value that reads show",
        "forms.fallback": "`first_wish`: whether it is done or declined",
        "forms.batch": "`rows_meant`: rows that the words fit, each with its call",
        "forms.aggregate": "`summands`: rows whose values are added up",
        "forms.what_if": "`foreseen`: values that calls would result in that are not made",
        "forms.comparison": "`differences` between two rows",
        "forms.false_premise": "`beliefs` that are wrong and count as wrong answers",
        "forms.change_of_mind": "`moment` of the second wish, and the `end_states` that are right",
        "forms.pressure": "empty: nothing turns on it",
        "forms.errands": "`calls` of the templates that are put together",
    },
    reasons=(
        "another is the first of its kind",
        "nothing to choose",
        "the condition decides nothing",
        "the condition decides otherwise",
        "both wishes are carried out",
        "not the rows that are meant",
        "nothing to add up",
        "another sum",
        "nothing to compare",
        "cannot be foreseen",
        "foreseen otherwise",
        "not told apart",
        "another difference",
        "what is believed is true",
        "no second mind",
    ),
    check=lambda judged: {"forms": check_forms(judged)} if judged.combination.forms else {},
)


def check_forms(judged: JudgedCombination) -> dict[str, Json]:
    """The figures of each form. Raises Rejected if a form's proof fails."""
    figures: dict[str, Json] = {}
    for form in judged.combination.forms:
        proof = FORMS.call(
            form.name, FORMS[form.name].proof, judged.world, judged.combination, form, passing=(Rejected,)
        )
        figures[form.name] = proof
    return figures
