"""The sections of `config.yaml`. Every key has a default, and its docstring is its comment in a new file."""

from datetime import datetime
from math import isclose
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from skillweave.config.llm import MAX_SEED, ConfigSection, LlmConfig, SpeakerConfig, has_controls
from skillweave.schema.record import Json

TaskMode = Literal["single", "cross_domain", "both"]
Runner = Literal["threads", "dask", "ray"]
Strength = Literal["limits", "seatbelt", "namespaces", "bubblewrap"]
"""How generated code can be confined, weakest first; docs/sandbox.md says what each is."""

MAX_SEED_CHARS = 200
YEARS = range(1970, 2901)
"""Years allowed for the clock: it can move as far as histories and tasks need."""

SEEDS = [
    "dental clinic",
    "pharmacy",
    "medical laboratory",
    "health insurance",
    "airline",
    "hotel",
    "car rental",
    "travel insurance",
]

MOST_QUESTIONS = 20
MAX_QUESTION_CHARS = 500
MANNER = [
    "Is the agent clear: plain words, nothing that the user has to guess?",
    "Is the agent courteous, in a way that suits this user?",
    "Is the agent efficient: no needless questions, detours or repetitions?",
    "Is the agent honest about what it did, what it cannot do and what it does not know?",
]


class DomainsConfig(ConfigSection):
    seeds: list[str] = Field(default_factory=lambda: list(SEEDS), min_length=1)
    """Service areas to start from, in a few words each."""

    @field_validator("seeds")
    @classmethod
    def _are_names(cls, value: list[str]) -> list[str]:
        for index, seed in enumerate(value):
            if not seed.strip() or len(seed) > MAX_SEED_CHARS or has_controls(seed):
                raise ValueError(f"should hold names of 1 to {MAX_SEED_CHARS} printable characters, not {seed[:40]!r}")
            if seed.strip().casefold() in (other.strip().casefold() for other in value[:index]):
                raise ValueError(f"should name each service area once, and {seed!r} stands twice")
        return value


class SplitsConfig(ConfigSection):
    """How tasks are split into train, validation and test. No template, person or instance of a world is in two
    splits."""

    validation: float = Field(default=0.1, ge=0, le=1)
    """Share of each world's families of templates that go to validation."""
    test: float = Field(default=0.1, ge=0, le=1)
    """Share of each world's families of templates that go to test."""
    holdout_domains: list[str] = Field(default_factory=list)
    """Domains kept entirely for testing, by their names in domain_topics.json; so is every fused world with one of
    them."""
    customers_apart: bool = False
    """Draw the split of each customer by name, for all worlds: no customer of a company is in two splits, also where
    worlds share the company. There are fewer tasks then, since fewer persons may have those of a split."""

    @model_validator(mode="after")
    def _are_shares(self) -> "SplitsConfig":
        if self.validation + self.test > 1:
            raise ValueError("should have a validation and a test share that make 1 at most together")
        return self


Level = Annotated[int, Field(ge=1, le=5)]
DEFAULT_MIX = {1: 0.1, 2: 0.15, 3: 0.25, 4: 0.38, 5: 0.12}


class DifficultyConfig(ConfigSection):
    """How hard the tasks are: all of one level, or a mix of levels. Level 1 is the easiest."""

    level: Level | None = None
    """The level of all tasks, 1 to 5; null: they are mixed."""
    mix: dict[Level, float] = Field(default_factory=lambda: dict(DEFAULT_MIX))
    """Level -> share of the tasks, as far as a world has such tasks. Of a level without a share there are none."""

    @field_validator("mix")
    @classmethod
    def _are_shares(cls, value: dict[int, float]) -> dict[int, float]:
        if any(share < 0 for share in value.values()) or not isclose(sum(value.values()), 1, abs_tol=1e-6):
            raise ValueError("should have shares from 0 to 1 that make 1 together")
        return value

    @model_validator(mode="after")
    def _is_a_level_or_a_mix(self) -> "DifficultyConfig":
        if self.level is not None and self.mix != DEFAULT_MIX:
            raise ValueError("should have a level or a mix, not both")
        return self

    @property
    def shares(self) -> dict[int, float]:
        """Level -> share of the tasks, without levels of which there are none."""
        return {self.level: 1.0} if self.level else {level: share for level, share in self.mix.items() if share}


class ParallelConfig(ConfigSection):
    """How many trajectories may be in each stage at once. A single number is for all three."""

    initialize: int = Field(default=8, ge=1)
    generate: int = Field(default=64, ge=1)
    evaluate: int = Field(default=8, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _all(cls, value: Any) -> Any:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return dict.fromkeys(("initialize", "generate", "evaluate"), value) if is_number else value

    def shared_by(self, workers: int) -> "ParallelConfig":
        """The part of each of so many workers."""
        parts = {name: max(1, number // workers) for name, number in self.model_dump().items()}
        return ParallelConfig.model_validate(parts)


class PartsConfig(ConfigSection):
    """The parts of the rollout layer, each a built-in name, the name of an entry point, or `module:Class`."""

    runner: str = "default"
    dispatcher: str = "pipelined"
    """pipelined, batch, or a class of one's own."""
    trajectory: str = "default"
    agent: str = "native"
    """native (the provider's tool calls), react (calls as text), or a class of one's own."""
    backend: str | None = None
    """A class of your own that plays the agent; null: the backend that `rollout.agent.model` names."""
    tasks: str = "world"
    """world (the dataset's tasks), react (questions of a file), or a source of one's own."""
    options: dict[str, Json] = Field(default_factory=dict)
    """Options of the task source: `{questions: FILE}` for react."""


class RolloutConfig(ConfigSection):
    agent: SpeakerConfig = SpeakerConfig(model="offline/oracle")
    """The agent: offline/oracle, careless, policy_blind, random or nothing, or a model."""
    user: SpeakerConfig | None = None
    """Who plays the user: a model, or offline/user, which knows the scripted agents' phrases only. null: the agent's
    own author at its usual sampling, and offline/user against offline agents."""
    engine: Literal["contract", "mcp"] = "contract"
    """Where sessions run: `contract`: in this process; `mcp`: on the generated servers."""
    prompt: Literal["full", "compact"] = "full"
    """The system prompt: with the whole policy, or compact: each rule once, for models with small windows."""
    skill: str | None = None
    """A Markdown file that every agent gets at the end of its system prompt, such as `best_skill.md` of `learn`."""
    max_turns: int = Field(default=40, ge=1)
    """Replies in which the agent speaks to the user."""
    max_calls: int = Field(default=60, ge=1)
    """Tool calls of one conversation."""
    timeout_s: float = Field(default=600.0, gt=0)
    """Seconds of wall clock for one conversation."""
    trials: int = Field(default=1, ge=1)
    """Conversations of each task."""
    personas: int = Field(default=1, ge=1)
    """Users of each task, each with another manner; trials take turns among them. The first is the task's own."""
    max_concurrency: int = Field(default=32, ge=1)
    """Requests under way at once, of agent and user together."""
    max_parallel_agents: ParallelConfig = ParallelConfig()
    """Conversations in each stage at once."""
    processes: int = Field(default=1, ge=1, le=1024)
    """Processes of this machine that hold conversations, with `execution.runner: threads`. Each has an equal part of
    the slots. One core keeps one to four hundred requests a second under way; more need more processes."""
    record_tokens: bool = False
    """Keep token ids and log probabilities as sampled, if the endpoint gives them."""
    parts: PartsConfig = PartsConfig()

    @field_validator("agent", mode="before")
    @classmethod
    def _with_usual_model(cls, value: Any) -> Any:
        """`--set rollout.agent.temperature=0.5` alone names no other agent."""
        is_open = isinstance(value, dict) and "model" not in value
        return {"model": cls.model_fields["agent"].default.model, **value} if is_open else value

    def shared_by(self, workers: int) -> "RolloutConfig":
        """The part of what may be under way at once that each of so many workers has."""
        slots = max(1, self.max_concurrency // workers)
        return self.model_copy(
            update={"max_concurrency": slots, "max_parallel_agents": self.max_parallel_agents.shared_by(workers)}
        )


class EvaluationConfig(ConfigSection):
    max_workers: int | None = Field(default=None, ge=1)
    """Workers that score at once; null: `execution.workers`."""
    report_trajectories: int = Field(default=500, ge=0)
    """Trajectories that `report.html` shows, failures first."""
    confirmation_in_reward: bool = False
    """Whether a write without the user's confirmation, if the policy asks for it, breaks the policy or is only
    noted."""
    enable_rubric: bool = False
    """Have the judge (`llm.judge`) go through each task point by point. It counts in the reward of those tasks alone
    whose `reward_basis` names it, and is made of these in any case."""
    rubric: list[str] = Field(default_factory=list, max_length=MOST_QUESTIONS)
    """Further questions of the rubric, asked about every conversation; yes is good."""
    enable_subjective: bool = False
    """Let the judge rate the agent's manner. It never counts in the reward."""
    subjective: list[str] = Field(default_factory=lambda: list(MANNER), min_length=1, max_length=MOST_QUESTIONS)
    """Questions about the manner, each rated from 1 to 5; 5 is best."""

    @field_validator("rubric", "subjective")
    @classmethod
    def _are_questions(cls, value: list[str]) -> list[str]:
        for index, text in enumerate(value):
            if not text.strip() or len(text) > MAX_QUESTION_CHARS or has_controls(text):
                raise ValueError(
                    f"should hold questions of 1 to {MAX_QUESTION_CHARS} printable characters, not {text[:40]!r}"
                )
            if text in value[:index]:
                raise ValueError(f"should ask each question once, and {text[:40]!r} stands twice")
        return value


class ExecutionConfig(ConfigSection):
    """Where `synth run`, `rollout run` and `evaluator run` work; see docs/scaling.md."""

    runner: Runner = "threads"
    """threads (this machine), dask or ray (a cluster)."""
    workers: int = Field(default=2, ge=1, le=100_000)
    """Processes for work that keeps a core busy; 1: one item at a time. Of a cluster, how many workers it has, which
    share the limits of endpoints."""
    address: str | None = Field(default=None, min_length=1)
    """A cluster that runs already, on machines that share this file system: `tcp://scheduler:8786` for dask,
    `ray://head:10001` for ray. null: the run starts one on this machine."""


class SandboxConfig(ConfigSection):
    """How strongly generated code is confined, and what it may use."""

    minimum: Strength = "limits"
    """The weakest confinement allowed; generated code does not run on a machine that offers less."""
    memory_mb: int = Field(default=1024, ge=64)
    """Megabytes of address space."""
    cpu_s: int = Field(default=60, ge=1)
    wall_s: float = Field(default=120.0, gt=0)
    processes: int = Field(default=32, ge=1)
    """Threads of the code; it may start no processes."""
    file_mb: int = Field(default=64, ge=1)
    """Megabytes of the largest file that it may write."""
    disk_mb: int = Field(default=256, ge=1)
    """Megabytes of all its files together."""
    files: int = Field(default=2000, ge=1)
    """How many files it may leave."""
    output_mb: int = Field(default=64, ge=1)
    """Megabytes that it may print."""


class CardConfig(ConfigSection):
    """What the dataset's card says in addition to what is in the files."""

    license: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$")
    """The licence of the dataset, as hubs call it: `apache-2.0`, `cc-by-4.0`, `other`. null: `apache-2.0`, as its
    catalogue, if the offline author wrote all of it from that; else `unknown`: on what models wrote, and on services of
    your own, you decide."""


class Config(ConfigSection):
    seed: int = Field(default=7, ge=0, le=MAX_SEED)
    """All randomness comes from it."""
    task_mode: TaskMode = "both"
    """Which steps run: single, cross_domain, both."""
    simulation_time: str = "2025-03-17 09:00:00"
    """The clock of all worlds, UTC."""
    outputs_dir: str = Field(default="outputs", min_length=1)
    domains: DomainsConfig = DomainsConfig()
    splits: SplitsConfig = SplitsConfig()
    difficulty: DifficultyConfig = DifficultyConfig()
    llm: LlmConfig = LlmConfig()
    steps: dict[str, dict[str, Json]] = Field(default_factory=dict)
    """Parameters of steps by full name; `llm` in one overrides its authors. See `list-steps`."""
    rollout: RolloutConfig = RolloutConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    execution: ExecutionConfig = ExecutionConfig()
    sandbox: SandboxConfig = SandboxConfig()
    card: CardConfig = CardConfig()
    catalogue: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    """Folders with services of one's own for the offline author, beside the built-in ones; a path that is not absolute
    starts at this file's folder. See docs/extending.md."""
    plugins: list[str] = Field(default_factory=list)
    """Modules of one's own that add task kinds, gates, checks or backends; see docs/extending.md."""

    @field_validator("simulation_time", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        # YAML reads an unquoted time as a datetime.
        return value.strftime("%Y-%m-%d %H:%M:%S") if isinstance(value, datetime) else value

    @field_validator("simulation_time")
    @classmethod
    def _is_time(cls, value: str) -> str:
        try:
            time = datetime.strptime(value, "%Y-%m-%d %H:%M:%S")
            is_time = time.strftime("%Y-%m-%d %H:%M:%S") == value
        except ValueError:
            is_time = False
        if not is_time:
            raise ValueError("must have the form YYYY-MM-DD HH:MM:SS")
        if time.year not in YEARS:
            raise ValueError(f"must be in the years {YEARS[0]} to {YEARS[-1]}")
        return value

    @field_validator("outputs_dir")
    @classmethod
    def _is_path(cls, value: str) -> str:
        if has_controls(value):
            raise ValueError("must be a path without control characters")
        return value
