"""The terms of wishes in plain words, as authors read them."""

from collections.abc import Iterator

from skillweave.schema.combination import Superlative
from skillweave.schema.request import Intent, KnownRow, KnownRows
from skillweave.schema.task import Moment
from synth.contracts.wording import is_status, name_in_words

_MOMENTS: dict[Moment, str] = {
    "second_message": "in their second message, whatever was answered",
    "after_report": "once all before has been reported or answered",
}
_LEFT = "it stays undone, and they want to be told the {noun}"


def terms_in_words(intent: Intent) -> Iterator[str]:
    """The terms on which something is wanted: `only if the price is at most <condition.price_cents>`."""
    for name, best in intent.best.items():
        yield f"{row_label(intent.rows[name], intent)} is {_meant(best)}"
    if intent.condition and intent.kind == "do":
        row, noun = intent.rows.get(intent.condition.parameter), intent.condition.noun
        value = f"the {noun} of {row_label(row, intent)}" if row else f"the {noun}"
        value = f"the {noun} that it would bring" if intent.condition.foreseen else value
        limit = f"{intent.condition.holds.replace('_', ' ')} <{intent.condition_fact}>"
        otherwise = "another wish takes its place" if intent.condition.otherwise else _LEFT.format(noun=noun)
        yield f"only if {value} is {limit}; if not, {otherwise}"
    elif intent.condition:
        yield "asked for in case the condition does not hold, and nowhere else"
    if intent.instead_of is not None:
        wish = f"wish {intent.instead_of + 1}"
        yield f"only if the condition of {wish} is not met" if intent.otherwise else f"only if {wish} cannot be done"
    if intent.every and (intent.kind == "do" or intent.foreseen):
        yield f"for {_rows(intent.every)}"
    if intent.foreseen:
        in_all = " in all" if intent.every else ""
        yield f"only asked about: they want to hear what the {intent.noun} would be{in_all}, and nothing is to be done"
    if intent.believed:
        yield f"they say that they take it to be <{intent.believed}>"
    if intent.later:
        instead = "" if intent.replaces is None else f", having thought better of wish {intent.replaces + 1}"
        yield f"later: {_MOMENTS[intent.later]}{instead}"


def computed(intent: Intent) -> str:
    """What is asked for where no result shows it: a sum, a difference. Empty for other wishes."""
    if intent.foreseen:
        return ""
    if intent.every and intent.kind == "hear":
        return f"the {intent.noun} of {_rows(intent.every)}, added up"
    if intent.compared:
        return f"which of {{row}} and {{other}} has less {intent.noun}, and by how much"
    return ""


def row_label(row: KnownRow, intent: Intent) -> str:
    """What an author calls a row: what the ids of its facts have in common, `<appointment_2>`."""
    if intent.every and row.entity == intent.every.entity and not row.columns:
        return "each of them"
    fact = next(iter(row.columns.values()), "")
    return f"<{fact.partition('.')[0]}>" if fact else f"the {_noun(row.entity)}"


def _meant(best: Superlative) -> str:
    name = name_in_words(best.column)
    allowed = ", of those that the rules allow" if best.allowed else ""
    if best.foreseen:
        return f"whichever of them brings the {best.order} {name} if it is done{allowed}"
    if best.column.endswith(("_at", "_on", "_until")):
        return f"the {'earliest' if best.order == 'least' else 'latest'} ({name}){allowed}"
    return f"the one with the {best.order} {name}{allowed}"


def _rows(rows: KnownRows) -> str:
    """`all Appointments with <every_appointment> and starts at in <every_appointment.month> but <appointment>`."""
    shared = [f"<{fact}>" for fact in rows.columns.values()]
    if rows.month:
        since = "from" if rows.ahead else "since"
        shared.append(f"{since if rows.since else 'in'} <{rows.month}> ({name_in_words(rows.day_column or '')})")
    excepted = [_left_out(row) for row in rows.excepted]
    but = f" but {' and '.join(excepted)}" if excepted else ""
    order = ""
    if rows.first and rows.budget:
        end = "earliest" if rows.first.order == "least" else "latest"
        order = (
            f", the {end} ({name_in_words(rows.first.column)}) first, one after another, until the next would take the "
            f"{name_in_words(rows.budget_column or '')} in all above <{rows.budget}>"
        )
    return f"every {_noun(rows.entity)} {', '.join(shared)}".strip() + but + order


def _left_out(row: KnownRow) -> str:
    """One row by its name, or all rows of a status."""
    fact = next(iter(row.columns.values()))
    return f"those with <{fact}>" if all(map(is_status, row.columns)) else f"<{fact.partition('.')[0]}>"


def _noun(entity: str) -> str:
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in entity).strip()
