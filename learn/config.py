"""The configuration of `learn`: all of `config.yaml`, with the sections `skill` and `evolve`.

The sections of `skill` and their keys have the names that SkillOpt gives them, where it has the same thing.
"""

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from skillweave.config.llm import AuthorConfig, ConfigSection, SpeakerConfig
from skillweave.config.sections import Config, Level

GateMetric = Literal["hard", "soft", "mixed"]
LrScheduler = Literal["constant", "linear", "cosine", "autonomous"]
UpdateMode = Literal["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"]
PairPolicy = Literal["mixed", "changed", "unchanged"]


class ItemsConfig(ConfigSection):
    """What is trained and tested on: tasks of the dataset in `outputs_dir`, by their splits, or questions of a
    folder."""

    split_dir: str | None = None
    """A folder with `train/items.json`, `val/items.json` and `test/items.json`, each a list of objects `{id, question,
    answers}`, with `context` where there is one; null: the dataset's own splits."""
    tasks: list[str] = Field(default_factory=list)
    """Only items that match one of these ids or patterns, `DentalClinic-*`, or `@FILE` with one a line; none: all."""
    train_size: int = Field(default=0, ge=0)
    """Items of train; 0: all. Kinds take turns, in each its worlds."""
    val_size: int = Field(default=0, ge=0)
    """Items of validation; 0: all."""
    test_size: int = Field(default=0, ge=0)
    """Items of test; 0: all."""


class TrainConfig(ConfigSection):
    num_epochs: int = Field(default=4, ge=1)
    """Passes over train."""
    batch_size: int = Field(default=40, ge=1)
    """Items of one batch of rollouts."""
    accumulation: int = Field(default=1, ge=1)
    """Batches before each update."""
    trials: int = Field(default=1, ge=1)
    """Rollouts of each item of train."""


class GradientConfig(ConfigSection):
    minibatch_size: int = Field(default=8, ge=1)
    """Trajectories that the optimizer is shown in one question."""
    merge_batch_size: int = Field(default=8, ge=2)
    """Patches that are merged in one question."""
    failure_only: bool = False
    """Reflect on failures alone."""
    longest_trajectory: int = Field(default=12_000, ge=1000)
    """Characters of a trajectory that the optimizer is shown; what is longer loses its middle."""
    longest_instruction: int = Field(default=30_000, ge=0)
    """Characters of each world's own system prompt, with its policy, that the optimizer is shown once in a question."""


class OptimizerConfig(ConfigSection):
    learning_rate: int = Field(default=4, ge=0)
    """Most edits of one step."""
    min_learning_rate: int = Field(default=2, ge=0)
    """Edits of a step to which a schedule decays."""
    lr_scheduler: LrScheduler = "cosine"
    """constant, linear, cosine, or autonomous: the optimizer says how many edits a step makes."""
    skill_update_mode: UpdateMode = "patch"
    """patch: edits; rewrite_from_suggestions: suggestions, from which the skill is written anew;
    full_rewrite_minibatch: each reflection writes a whole skill."""
    use_slow_update: bool = True
    """At the end of an epoch, write guidance from what changed since the last one."""
    slow_update_samples: int = Field(default=20, ge=1)
    """Items of train that both epochs' skills are tried on."""
    slow_update_gate_with_selection: bool = False
    """Whether guidance has to pass the gate; if not, it is put into the skill, and the skill scored anew."""
    longitudinal_pair_policy: PairPolicy = "mixed"
    """Which of these items are compared: mixed (all), changed, unchanged."""
    use_meta_skill: bool = True
    """At the end of an epoch, the optimizer writes down what it learned about editing this skill, for itself."""
    use_skill_aware_reflection: bool = False
    """Tell defects of the skill from lapses of the agent; a lapse becomes a note, and no edit."""
    skill_aware_appendix_source: Literal["both", "failure_only"] = "both"
    """Whose notes are kept."""
    skill_aware_consolidate_threshold: int = Field(default=0, ge=0)
    """Above so many notes the optimizer shortens them; 0: never."""

    @model_validator(mode="after")
    def _decays(self) -> "OptimizerConfig":
        if self.min_learning_rate > self.learning_rate:
            raise ValueError("should have a min_learning_rate that is at most the learning_rate")
        return self


class GateConfig(ConfigSection):
    """When a candidate takes the place of the current skill."""

    use_gate: bool = True
    """false: every candidate is accepted; the best one by its score on validation is kept all the same."""
    metric: GateMetric = "hard"
    """hard: share of items passed; soft: mean share of the checks passed; mixed: between the two."""
    mixed_weight: float = Field(default=0.5, ge=0, le=1)
    """Weight of soft in `mixed`."""
    trials: int = Field(default=1, ge=1)
    """Rollouts of each item of validation and test."""
    rule: Literal["strict", "significant"] = "strict"
    """strict: any gain; significant: a gain that a paired bootstrap over the items of validation does not take for
    chance."""
    level: float = Field(default=0.05, gt=0, lt=1)
    """Of `significant`: the largest share of resamples without a gain."""
    size_penalty: float = Field(default=0.0, ge=0)
    """What 1,000 characters of the skill take off its score."""
    longest_skill: int = Field(default=20_000, ge=100)
    """Characters; a longer candidate is rejected without a trial."""
    eval_test: bool = True
    """At the end, try the first, the best and the last skill on test."""
    patience: int = Field(default=0, ge=0)
    """Stop after so many steps in a row without an accepted candidate; 0: never."""


class SkillConfig(ConfigSection):
    """How a skill is trained."""

    out_root: str = Field(default="skill", min_length=1)
    """The folder of the run."""
    skill_init: str | None = None
    """A file with the first skill; null: a heading alone."""
    model: AuthorConfig | None = None
    """The optimizer: the model that reflects and edits; null: `llm.textual`."""
    lost_limit: float = Field(default=0.1, ge=0, le=1)
    """Share of the rollouts that may be lost to the simulated user or to the world. They count for nothing; above this
    share the run stops."""
    items: ItemsConfig = ItemsConfig()
    train: TrainConfig = TrainConfig()
    gradient: GradientConfig = GradientConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    evaluation: GateConfig = GateConfig()


class TasksConfig(ConfigSection):
    """Some of the dataset's tasks."""

    worlds: list[str] = Field(default_factory=list)
    """Names of worlds; none: all."""
    split: Literal["train", "validation", "test"] | None = None
    """Only tasks of this split; null: of any."""
    levels: list[Level] = Field(default_factory=list)
    """Levels of difficulty; none: all."""
    share: list[Annotated[float, Field(ge=0, le=1)]] = Field(default=[0.0, 1.0], min_length=2, max_length=2)
    """From where to where, of all tasks in the order of a digest of their ids: `[0, 0.8]` are four fifths, always the
    same, and `[0.8, 1]` the others. So tasks with the same templates can be held out."""
    limit: int | None = Field(default=None, ge=1)
    """The most tasks; kinds take turns, in each its worlds."""


class TrainerConfig(ConfigSection):
    """A command that trains a model. It runs once an iteration, and again if it was killed."""

    command: list[str] = Field(default_factory=list)
    """The program and its arguments; `{data}` becomes the file of conversations (JSONL, messages and tools), `{model}`
    the folder to write, `{base}` the value of `base`, `{seed}` a number. None: the built-in small model."""
    arguments: list[str] = Field(default_factory=list)
    """Further arguments of the built-in small model's training: `[--epochs, "4"]`."""
    base: str = ""
    """The model to begin with, as the command names it. Every iteration begins with it anew."""
    python: str | None = None
    """The Python that has PyTorch, for the built-in small model; null: the one of this command. It may change in a
    folder."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Variables added to the command's environment. No keys: they are written to the record."""


class EvolveConfig(ConfigSection):
    """How an agent evolves."""

    folder: str = Field(default="evolve", min_length=1)
    """The folder of the run."""
    iterations: int = Field(default=3, ge=1)
    """Rounds of exploring and training after the first training."""
    first: str | None = None
    """A rollouts folder with the first trajectories; null: those of `offline/oracle` on the tasks of `seed_tasks`."""
    seed_tasks: TasksConfig = TasksConfig(split="train")
    """What the first trajectories are of, if `offline/oracle` makes them."""
    explore: TasksConfig = TasksConfig(split="train")
    """What the agent explores."""
    held_out: TasksConfig = TasksConfig(split="test")
    """What it is evaluated on. None of these tasks may be among those of the others."""
    trials: int = Field(default=4, ge=1)
    """Conversations of each explored task."""
    temperature: float = Field(default=0.8, ge=0)
    """Sampling while exploring; the evaluation samples with the agent's own settings."""
    per_task: int = Field(default=2, ge=1)
    """Most rewarded trajectories of a task that are kept, shortest first."""
    evaluation_trials: int = Field(default=1, ge=1)
    """Conversations of each held-out task."""
    control: bool = True
    """Beside each iteration, train a model on the first set alone, with the iteration's own seed."""
    trainer: TrainerConfig = TrainerConfig()
    agent: SpeakerConfig = SpeakerConfig(model="vllm/{model}")
    """The trained model as an agent; `{model}` becomes its folder. With `serve`, a server is started for it."""

    @field_validator("agent")
    @classmethod
    def _names_the_model(cls, value: SpeakerConfig) -> SpeakerConfig:
        if "{model}" not in value.model:
            raise ValueError("should have a model with {model} in it, which becomes the trained model's folder")
        return value


class LearnConfig(Config):
    """`config.yaml` with the sections of `learn`."""

    skill: SkillConfig = SkillConfig()
    evolve: EvolveConfig = EvolveConfig()
