"""What a run came to, in a few lines; the last says what was written and what to do next."""

import shlex
import sys
from pathlib import Path

from rollout.cli.options import Options
from rollout.folder import Held
from rollout.speakers import user_of
from rollout.tally import USER_SHARE, Tally
from skillweave.command import one_line
from skillweave.config.models import Config
from skillweave.errors import StopError

MOST = 5
"""Tasks that cannot be read, or torn lines, that are shown."""
SHOWN = 300
"""Characters of an error."""


def show_report(config: Config, options: Options, held: Held, asked: int, tally: Tally, spent: StopError | None) -> int:
    """Print it; the exit status."""
    for place in held.torn[:MOST]:
        print(f"{one_line(str(options.rollouts / place))}: torn, counts for nothing")
    if len(held.torn) > MOST:
        print(f"and {len(held.torn) - MOST} more torn lines, which count for nothing")
    if not asked:
        print(f"nothing to do: all trajectories asked for are in {options.rollouts}, {len(held.done)} in all")
    else:
        _show_tally(config, tally)
    for place in tally.unreadable[:MOST]:
        print(f"  cannot be read: {one_line(place)}")
    if tally.user_share > USER_SHARE:
        print(
            f"warning: {tally.user_share:.1%} of the conversations were lost to the simulated user "
            f"{user_of(config.rollout).model}, whose answers were empty or held invented figures; try another model",
            file=sys.stderr,
        )
    if config.rollout.record_tokens and tally.done and not tally.tokens_kept:
        print("warning: rollout.record_tokens is set, and the endpoint gave no tokens", file=sys.stderr)
    if spent is not None:
        print(f"stopped: {one_line(str(spent))}", file=sys.stderr)
    left = asked - tally.done + tally.owed
    if left:
        print(f"{left} trajectories are owed; run the same command again")
    defects = tally.errors["world"]
    if defects:
        print(
            f"{defects} trajectories are lost to defects of the dataset; see them with: "
            f"python -m synth verify {shlex.quote(config.outputs_dir)}"
        )
    print(f"wrote {shlex.quote(str(options.rollouts))}; next: {_scoring(config, options)}")
    return 1 if left or defects else 0


def _scoring(config: Config, options: Options) -> str:
    """The command that scores these rollouts."""
    outputs = shlex.quote(config.outputs_dir)
    name = options.rollouts.name
    folder = Path(config.outputs_dir, "evaluation", "" if name == "rollouts" else name)
    results = shlex.quote(str(folder / "results.jsonl"))
    return (
        f"python -m evaluator.run_evaluation --mode all --rollouts-dir {shlex.quote(str(options.rollouts))} "
        f"--outputs-dir {outputs} --mcp-outputs-dir {outputs} --output {results}"
    )


def _show_tally(config: Config, tally: Tally) -> None:
    users = f" with {', '.join(sorted(tally.users))}" if tally.users else ""
    share = f", {tally.passed} of {tally.scored} passed ({tally.passed / tally.scored:.1%})" if tally.scored else ""
    print(f"{tally.done} conversations of {', '.join(sorted(tally.agents))}{users}{share}")
    print(f"  ended by: {_listed(tally.stops)}; {tally.turns} turns, {tally.calls} calls")
    cost = "cost unknown: give prices in llm.prices" if tally.cost_usd is None else f"{tally.cost_usd:.2f} USD"
    print(f"  tokens: {tally.input_tokens:,} in, {tally.output_tokens:,} out, {cost}")
    if tally.users:
        lost = f"{tally.errors['user']} of {tally.done} conversations lost to the user"
        print(
            f"  {tally.sent_back} answers of the user sent back (empty, or invented figures); {lost} (no usable answer)"
        )
    for kind, count in sorted(tally.errors.items()):
        print(f"  {count} {kind} errors, the first: {one_line(tally.first_errors[kind])[:SHOWN]}")


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
