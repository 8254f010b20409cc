"""Sizes of a run: what each step asks, how long prompts and answers are, and what time it takes, for a domain and for a
combination.

`sizes.json` holds the sizes of a default run. Dry runs, `docs/models.md`, and estimates of the time that is left use
them if the outputs folder has no records yet. The offline author, whose run was measured, is never sent back; models
are, and write more. What recorded models took for each of its questions is in the file, too. Time is in units: what a
core takes for `for i in range(20_000_000): x += i`. To measure them again on the outputs folder of a finished run:
python -m synth.questions.sizes OUTPUTS [--answers CASSETTE ...]
"""

import argparse
import json
import time
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Self

from pydantic import Field

from skillweave.base.errors import ConfigError
from skillweave.base.manifest import ItemRecord, Manifest
from skillweave.base.store import Store
from skillweave.schema.record import Record
from skillweave.schema.reports import QuestionMetrics
from synth.artifacts import DOMAIN_COMBINATIONS, DOMAIN_TOPICS

FILE = "sizes.json"
PAIRWISE = frozenset({"fusion.links"})
"""Questions about a pair of domains, of which s10 asks only so many for each domain."""
UNIT_S = 1.25
"""Seconds that a usual core takes for a unit."""


class Size(Record):
    """The size of one question. The numbers are means, so they need not be whole."""

    asked: float = 0.0
    """How often it is asked."""
    prompt_chars: float = 0.0
    """Characters of all its prompts together, those of repairs too."""
    reply_chars: float = 0.0
    """Characters of all its replies together."""

    def plus(self, other: "Size") -> "Size":
        """The sum of both."""
        return Size(
            asked=self.asked + other.asked,
            prompt_chars=self.prompt_chars + other.prompt_chars,
            reply_chars=self.reply_chars + other.reply_chars,
        )

    def times(self, count: float) -> "Size":
        """This size `count` times, rounded to a thousandth."""
        return Size(
            asked=round(self.asked * count, 3),
            prompt_chars=round(self.prompt_chars * count, 3),
            reply_chars=round(self.reply_chars * count, 3),
        )


class ModelShare(Record):
    """What recorded models took for a question, for one that the offline author was asked: repairs, longer answers."""

    asked: float = 1.0
    """Questions, and so prompts."""
    reply_chars: float = 1.0
    """Characters of replies."""

    def of(self, size: Size) -> Size:
        """What a model takes where the offline author took this."""
        return Size(
            asked=round(size.asked * self.asked, 3),
            prompt_chars=round(size.prompt_chars * self.asked, 3),
            reply_chars=round(size.reply_chars * self.reply_chars, 3),
        )


ByQuestion = dict[str, Size]
"""Question -> its size."""


class StepSizes(Record):
    """What a step asks."""

    domain: ByQuestion = Field(default_factory=dict)
    """For one domain. What the step asks once for all domains is divided among them."""
    combination: ByQuestion = Field(default_factory=dict)
    """For one combination of domains."""
    domain_units: float = 0.0
    """Time of a worker for one domain, in units; as `domain`, with what the step does once."""
    combination_units: float = 0.0

    def of(self, domains: float, combinations: float) -> ByQuestion:
        """What the step asks for a number of domains and of combinations."""
        single = times(self.domain, domains)
        for question in PAIRWISE & single.keys():
            # Two domains are one pair, though each of twelve has its share of many.
            asked, pairs = single[question].asked, domains * (domains - 1) / 2
            single[question] = single[question].times(min(1.0, pairs / asked) if asked else 1.0)
        return together([single, times(self.combination, combinations)])

    def units_of(self, domains: float, combinations: float) -> float:
        """The time that the step takes for a number of domains and of combinations, in units."""
        return self.domain_units * domains + self.combination_units * combinations


class Sizes(Record):
    """What each step of a run asked."""

    domains: int
    """Domains of the run that was measured."""
    combinations: int
    steps: dict[str, StepSizes]
    models: dict[str, ModelShare] = Field(default_factory=dict)
    """Question about meaning -> what recorded models took for it."""
    other: ModelShare = ModelShare()
    """What they took for all of these together: it stands for the questions that no recording has."""

    def by_model(self, question: str, size: Size) -> Size:
        """What a model takes where the offline author takes `size`."""
        return self.models.get(question, self.other).of(size)

    def compared_with(self, recordings: Sequence[Sequence[tuple[str, str]]]) -> Self:
        """These sizes, with what models took in these recordings of one domain each.

        Args:
            recordings: The question and the text of each reply.
        """
        offline = together([step.domain for step in self.steps.values()])
        models = {
            question: Size(
                asked=sum(name == question for takes in recordings for name, _ in takes) / len(recordings),
                reply_chars=sum(len(text) for takes in recordings for name, text in takes if name == question)
                / len(recordings),
            )
            for question in sorted({name for takes in recordings for name, _ in takes} & offline.keys())
        }
        whole = together([{"": size} for size in models.values()])[""]
        base = together([{"": offline[question]} for question in models])[""]
        shares = {question: _share(size, offline[question]) for question, size in models.items()}
        return self.model_copy(update={"models": shares, "other": _share(whole, base)})

    @classmethod
    def shipped(cls) -> Self:
        """The sizes of the file."""
        return cls.model_validate_json(resources.files(__package__).joinpath(FILE).read_bytes())

    @classmethod
    def measured(cls, records: Sequence[ItemRecord], unit_s: float = UNIT_S) -> Self:
        """The sizes of a finished run, from the records of its items, on a machine that takes so long for a unit."""
        domains = keys_of(DOMAIN_TOPICS.pattern, records)
        combinations = keys_of(DOMAIN_COMBINATIONS.pattern, records)
        steps: dict[str, StepSizes] = {}
        for step in sorted({record.step for record in records}):
            done = [record for record in records if record.step == step and record.state == "done"]
            joint = together([asked_in(record) for record in done if record.key in combinations])
            single = together([asked_in(record) for record in done if record.key not in combinations])
            seconds = sum(record.seconds for record in done)
            joint_s = sum(record.seconds for record in done if record.key in combinations)
            steps[step] = StepSizes(
                domain=times(single, 1 / max(1, len(domains))),
                combination=times(joint, 1 / max(1, len(combinations))),
                domain_units=round((seconds - joint_s) / unit_s / max(1, len(domains)), 3),
                combination_units=round(joint_s / unit_s / max(1, len(combinations)), 3),
            )
        return cls(domains=len(domains), combinations=len(combinations), steps=steps)

    def beside(self, older: "Sizes") -> "Sizes":
        """These sizes, with the older ones of questions that this run did not ask.

        A run without a judge, for example, does not ask `policy.decide`.
        """
        steps = {
            step: StepSizes(
                domain={**before.domain, **now.domain},
                combination={**before.combination, **now.combination},
                domain_units=now.domain_units,
                combination_units=now.combination_units,
            )
            for step, now in self.steps.items()
            for before in [older.steps.get(step, StepSizes())]
        }
        return self.model_copy(update={"steps": steps, "models": older.models, "other": older.other})


def keys_of(artifact: str, records: Iterable[ItemRecord]) -> set[str]:
    """The keys of an artifact that items wrote; `artifact` is its pattern."""
    return {output.key for record in records for output in record.outputs if output.artifact == artifact}


def asked_in(record: ItemRecord) -> ByQuestion:
    """What an item asked."""
    return together([{asking.question: _size(asking)} for asking in record.askings])


def together(parts: Sequence[ByQuestion]) -> ByQuestion:
    """The sum for each question, sorted."""
    sums: ByQuestion = {}
    for part in parts:
        for question, size in part.items():
            sums[question] = sums.get(question, Size()).plus(size)
    return dict(sorted(sums.items()))


def times(sizes: ByQuestion, count: float) -> ByQuestion:
    """Each size `count` times; empty for none."""
    return {question: size.times(count) for question, size in sizes.items()} if count else {}


def _share(size: Size, of: Size) -> ModelShare:
    return ModelShare(
        asked=round(size.asked / of.asked, 3) if of.asked else 1.0,
        reply_chars=round(size.reply_chars / of.reply_chars, 3) if of.reply_chars else 1.0,
    )


def _size(asking: QuestionMetrics) -> Size:
    return Size(asked=asking.asked, prompt_chars=asking.prompt_chars, reply_chars=asking.reply_chars)


def unit_in_seconds() -> float:
    """Seconds of this process that a unit takes here now."""
    begun = time.process_time()
    exec("x = 0\nfor i in range(20_000_000): x += i", {})
    return time.process_time() - begun


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m synth.questions.sizes", description=f"Write {FILE}.")
    parser.add_argument("outputs", type=Path, help="the outputs folder of a finished run")
    parser.add_argument(
        "--answers",
        type=Path,
        action="append",
        default=[],
        help="JSON lines with `question` and `text` of each reply that a model gave for one domain; repeats",
    )
    given = parser.parse_args(arguments)
    outputs = given.outputs
    measured = Sizes.measured(Manifest(Store(outputs)).items(), unit_in_seconds())
    if not any(step.domain for step in measured.steps.values()):
        raise ConfigError(f"no questions are recorded in {str(outputs)!r}; give the outputs folder of a finished run")
    sizes = measured.beside(Sizes.shipped())
    if given.answers:
        lines = [[json.loads(line) for line in path.read_text("utf-8").splitlines()] for path in given.answers]
        sizes = sizes.compared_with([[(take["question"], take["text"]) for take in takes] for takes in lines])
    path = Path(__file__).with_name(FILE)
    path.write_text(json.dumps(sizes.model_dump(mode="json"), indent=1) + "\n", "utf-8")
    print(f"wrote {path}: {sizes.domains} domains, {sizes.combinations} combinations")


if __name__ == "__main__":
    main()
