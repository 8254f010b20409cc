"""Sizes of questions: how often each step asks, and how long prompts and answers are, for a domain and a combination.

`sizes.json` holds those of a finished run, for estimates of runs that have none of their own yet. It is written anew,
from the outputs folder of a finished run, with: python -m synth.questions.sizes OUTPUTS
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Self

from pydantic import Field

from skillweave.base.errors import ConfigError
from skillweave.base.manifest import ItemRecord, Manifest
from skillweave.base.store import Store
from skillweave.schema.question_metrics import QuestionMetrics
from skillweave.schema.record import Record
from synth.artifacts import DOMAIN_COMBINATIONS, DOMAIN_TOPICS

FILE = "sizes.json"


class Size(Record):
    """Of one question; means, so they need not be whole."""

    asked: float = 0.0
    """How often it is put."""
    prompt_chars: float = 0.0
    """Of all its prompts together, repairs among them."""
    reply_chars: float = 0.0

    def plus(self, other: "Size") -> "Size":
        """Both together."""
        return Size(
            asked=self.asked + other.asked,
            prompt_chars=self.prompt_chars + other.prompt_chars,
            reply_chars=self.reply_chars + other.reply_chars,
        )

    def times(self, count: float) -> "Size":
        """So many of it, to a thousandth."""
        return Size(
            asked=round(self.asked * count, 3),
            prompt_chars=round(self.prompt_chars * count, 3),
            reply_chars=round(self.reply_chars * count, 3),
        )


ByQuestion = dict[str, Size]


class StepSizes(Record):
    domain: ByQuestion = Field(default_factory=dict)
    """What a step asks for one domain; what it asks of all domains at once is shared out among them."""
    combination: ByQuestion = Field(default_factory=dict)
    """What it asks for one combination of domains."""

    def of(self, domains: float, combinations: float) -> ByQuestion:
        """What the step asks for so many."""
        return together([times(self.domain, domains), times(self.combination, combinations)])


class Sizes(Record):
    domains: int
    """Of the run that was measured."""
    combinations: int
    steps: dict[str, StepSizes]

    @classmethod
    def shipped(cls) -> Self:
        """Those of the file."""
        return cls.model_validate_json(resources.files(__package__).joinpath(FILE).read_bytes())

    @classmethod
    def measured(cls, records: Sequence[ItemRecord]) -> Self:
        """Those of a finished run."""
        domains = keys_of(DOMAIN_TOPICS.pattern, records)
        combinations = keys_of(DOMAIN_COMBINATIONS.pattern, records)
        steps: dict[str, StepSizes] = {}
        for step in sorted({record.step for record in records if record.askings}):
            found = [record for record in records if record.step == step and record.state == "done"]
            joint = together([asked_in(record) for record in found if record.key in combinations])
            single = together([asked_in(record) for record in found if record.key not in combinations])
            steps[step] = StepSizes(
                domain=times(single, 1 / max(1, len(domains))),
                combination=times(joint, 1 / max(1, len(combinations))),
            )
        return cls(domains=len(domains), combinations=len(combinations), steps=steps)

    def beside(self, older: "Sizes") -> "Sizes":
        """These, and the older sizes of what this run did not ask: a run without a judge asks no `policy.decide`."""
        steps = {
            step: StepSizes(
                domain={**before.domain, **now.domain}, combination={**before.combination, **now.combination}
            )
            for step, now in self.steps.items()
            for before in [older.steps.get(step, StepSizes())]
        }
        return self.model_copy(update={"steps": steps})


def keys_of(artifact: str, records: Iterable[ItemRecord]) -> set[str]:
    """The keys that items made of an artifact."""
    return {output.key for record in records for output in record.outputs if output.artifact == artifact}


def asked_in(record: ItemRecord) -> ByQuestion:
    """What an item asked."""
    return together([{asking.question: _size(asking)} for asking in record.askings])


def together(parts: Sequence[ByQuestion]) -> ByQuestion:
    """All of them, question by question, sorted."""
    found: ByQuestion = {}
    for part in parts:
        for question, size in part.items():
            found[question] = found.get(question, Size()).plus(size)
    return dict(sorted(found.items()))


def times(sizes: ByQuestion, count: float) -> ByQuestion:
    """So many of them."""
    return {question: size.times(count) for question, size in sizes.items()} if count else {}


def _size(asking: QuestionMetrics) -> Size:
    return Size(asked=asking.asked, prompt_chars=asking.prompt_chars, reply_chars=asking.reply_chars)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m synth.questions.sizes", description=f"Write {FILE}.")
    parser.add_argument("outputs", type=Path, help="the outputs folder of a finished run")
    outputs = parser.parse_args(arguments).outputs
    measured = Sizes.measured(Manifest(Store(outputs)).items())
    if not measured.steps:
        raise ConfigError(f"no questions are recorded in {str(outputs)!r}; give the outputs folder of a finished run")
    sizes = measured.beside(Sizes.shipped())
    path = Path(__file__).with_name(FILE)
    path.write_text(json.dumps(sizes.model_dump(mode="json"), indent=1) + "\n", "utf-8")
    print(f"wrote {path}: {sizes.domains} domains, {sizes.combinations} combinations")


if __name__ == "__main__":
    main()
