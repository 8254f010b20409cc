"""`show`: one trajectory, turn by turn, beside its golden calls."""

from evaluator.cli.options import Options
from evaluator.desk import Desk, Job
from evaluator.evaluate import NotScoredError
from evaluator.recorded import UnreadableError
from evaluator.report.conversation import conversation_of
from evaluator.rollouts import find_rollouts
from evaluator.terminal.conversation import show
from evaluator.version import checks_version
from skillweave.command import one_line
from skillweave.errors import ConfigError

SHOWN = 3
"""Ids that an error names."""


def run_show(options: Options, id: str, *, agent: str | None = None, user: str | None = None) -> int:
    """The exit status: 1 where it cannot be scored. Raises ConfigError, ArtifactError."""
    rollouts = find_rollouts(options.rollouts)
    named = sorted(key for key, place in rollouts.places.items() if id in (key.id, place.task_id))
    found = [key for key in named if agent in (None, key.speakers.agent) and user in (None, key.speakers.user)]
    if named and not found:
        held = one_line("; ".join(sorted({str(key.speakers) for key in named})))
        raise ConfigError(f"{id!r} is there of: {held}; choose among them with --agent and --user")
    if not named:
        such = ", ".join(sorted({key.id for key in rollouts.places})[:SHOWN]) or "none"
        raise ConfigError(f"no trajectory {id!r} in {str(options.rollouts)!r}; it holds {such}, ...")
    desk = Desk(options.office(checks_version(options.settings)))
    status = 0
    for key in found:
        place = rollouts.places[key]
        status |= _shown(desk, Job(key, rollouts.files[place.file], place, ""))
    return status


def _shown(desk: Desk, job: Job) -> int:
    result = desk.result(job)
    try:
        show(conversation_of(desk.evaluator.scored(desk.recorded(job)), result))
    except (NotScoredError, UnreadableError) as error:
        print(f"{one_line(job.key.id)} cannot be scored: {one_line(str(error))}")
        return 1
    return 0
