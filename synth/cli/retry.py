"""What `--retry-rejected` would ask: proposed only where another answer can come of it."""

from collections.abc import Iterator, Mapping

from synth.cli.place import Options
from synth.cli.questions import OFFLINE
from synth.cli.wording import counted, item_label
from synth.engine.run import Run

Complaints = Mapping[tuple[str, str], list[str]]
FEW = 3
"""Items that a proposal names."""
LOUD = 160
"""Longest reason that it shows."""


def proposal(run: Run, options: Options) -> str | None:
    """What the command would ask, and the command, in a line; None where it would come to the same again."""
    complaints = run.complaints()
    asks = [*_sent_back(run, complaints), *_asked_anew(run, complaints)]
    if not asks:
        return None
    more = f"; and {counted(len(asks) - FEW, 'item')} more" if len(asks) > FEW else ""
    return f"{'; '.join(asks[:FEW])}{more}, with: {options.command('run', '--retry-rejected')}"


def _sent_back(run: Run, complaints: Complaints) -> Iterator[str]:
    for (name, key), reasons in sorted(complaints.items()):
        step = run.pipeline.step(name)
        if any(_is_model(run, name, question.role) for question in step.questions):
            record = run.manifest.item(name, key)
            is_in_vain = record is not None and set(reasons) <= set(record.sent_back)
            told = "is asked anew" if is_in_vain else f"is told: {'; '.join(reasons)[:LOUD]}"
            yield f"{step.short} {item_label(step, key)} {told}"


def _asked_anew(run: Run, complaints: Complaints) -> Iterator[str]:
    for step in run.pipeline.steps:
        roles = {question.name: question.role for question in step.questions}
        for record in run.manifest.items(step.name):
            if record.state != "rejected" or (record.lies_in, record.key) in complaints:
                continue
            # What the step itself found wrong can come of any answer.
            asked = [record.question] if record.question else sorted({one.question for one in record.askings})
            anew = [name for name in asked if name in roles and _is_model(run, step.name, roles[name])]
            if anew:
                yield f"{step.short} {item_label(step, record.key)} asks {', '.join(anew)} anew"


def _is_model(run: Run, step: str, role: str) -> bool:
    """Whether one who can answer otherwise is asked."""
    return any(not name.startswith(OFFLINE) for name in run.authors.names(step, role))
