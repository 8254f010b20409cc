"""The settings of a run: what the configuration leaves open, what cannot work, and what must not change in a folder."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json

import learn
from learn.config import LearnConfig, TrainerConfig
from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.store import Store
from skillweave.config.llm import ServeConfig, SpeakerConfig
from skillweave.config.sections import Config, PartsConfig
from skillweave.llm.models import PROVIDERS, own_class, split_name
from skillweave.world.dataset import Dataset

CONFIG = "config.json"
MODEL = "{model}"
USER = "offline/user"
"""Who plays the user if the configuration names nobody. A model that is trained would be a user that changes."""
ROLLOUT = ("engine", "prompt", "max_turns", "max_calls", "personas", "parts")
EVALUATION = {"max_workers", "report_trajectories"}
"""Settings of the evaluation that change no score."""
FREE: dict[str, Any] = {
    "folder": True,
    "iterations": True,
    "trainer": {"python"},
    "agent": {"serve", "base_url", "api_key_env", "stream"},
}
"""Settings of `evolve` that may change in a folder."""
SHOWN = 120
"""Characters of a value that an error shows."""
LARGEST_SEED = 2**31
"""Trainers take no larger seed."""


@dataclass(frozen=True)
class EvolveSetup:
    """What all phases of a run need."""

    config: LearnConfig
    """With the agent's server and the user filled in."""
    store: Store
    """The folder of the run."""
    dataset: Dataset

    @property
    def outputs(self) -> Path:
        """The folder of the dataset."""
        return Path(self.config.outputs_dir)

    def seed_of(self, iteration: int) -> int:
        """The seed of an iteration's training and of its exploration."""
        return (self.config.seed + iteration) % LARGEST_SEED

    def path(self, place: str) -> Path:
        """The absolute path of something in the folder."""
        return self.store.path(place).resolve()


def is_built_in(trainer: TrainerConfig) -> bool:
    """Whether the built-in small model is trained."""
    return not trainer.command


def trainer_python(trainer: TrainerConfig) -> str:
    """The Python of the built-in small model."""
    return trainer.python or sys.executable


def source_root() -> Path:
    """The folder in which a Python of another environment finds the package `learn`."""
    return Path(next(iter(learn.__path__))).resolve().parent


def completed(config: LearnConfig, *, is_dry: bool = False) -> LearnConfig:
    """Fill in what the configuration leaves open: the agent's server and the user.

    Raises:
        ConfigError: A setting cannot work; it is told before anything is trained.
    """
    evolve, user = config.evolve, config.rollout.user
    if config.rollout.parts.tasks != "world":
        raise ConfigError(
            f"rollout.parts.tasks is {config.rollout.parts.tasks!r}, and agents evolve on the tasks of a dataset; "
            "leave it at 'world'"
        )
    _refuse_trainer(evolve.trainer)
    if not is_dry and (lack := missing_torch(evolve.trainer)):
        raise ConfigError(lack)
    agent = _with_server(evolve.agent, evolve.trainer)
    provider, _ = split_name(agent.model)
    if provider not in PROVIDERS:
        own_class(provider)
    if user is None or "model" not in user.model_fields_set:
        settings = user.model_dump(exclude_unset=True) if user is not None else {}
        user = SpeakerConfig(**{**settings, "model": USER})
    return config.model_copy(
        update={
            "evolve": evolve.model_copy(update={"agent": agent}),
            "rollout": config.rollout.model_copy(update={"user": user}),
        }
    )


def _refuse_trainer(trainer: TrainerConfig) -> None:
    """Raise ConfigError if the trainer cannot run."""
    key, program = ("python", trainer_python(trainer)) if is_built_in(trainer) else ("command", trainer.command[0])
    if shutil.which(program) is None:
        raise ConfigError(f"evolve.trainer.{key}: there is no program {program!r}; install it, or give its path")
    if trainer.arguments and not is_built_in(trainer):
        raise ConfigError("evolve.trainer.arguments are for the built-in small model; put yours into trainer.command")
    for needed in ("{data}", MODEL) if trainer.command else ():
        if not any(needed in argument for argument in trainer.command):
            raise ConfigError(
                f"evolve.trainer.command has no {needed}; put it where the program takes "
                f"{'the file of conversations' if needed == '{data}' else 'the folder to write'}"
            )


def missing_torch(trainer: TrainerConfig) -> str:
    """What is wrong if the trainer's Python lacks the PyTorch that it needs; empty if it does not."""
    program = trainer_python(trainer)
    if not is_built_in(trainer) or _has_torch(program):
        return ""
    return (
        f"{program!r} has no PyTorch, which the built-in small model needs; install it there (pip install torch), "
        "or name a Python that has it in evolve.trainer.python"
    )


def _has_torch(python: str) -> bool:
    """Whether a Python finds PyTorch. It is not imported: that takes seconds."""
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    return subprocess.run([python, "-c", look], check=False, capture_output=True).returncode == 0


def _with_server(agent: SpeakerConfig, trainer: TrainerConfig) -> SpeakerConfig:
    """The agent, served by the program that goes with the trainer. Raises ConfigError."""
    serve = agent.serve
    if split_name(agent.model)[0] != "vllm":
        if serve is not None:
            raise ConfigError(
                f"evolve.agent.serve starts a server in vLLM's manner, and the agent is {agent.model!r}; "
                "name vllm/{model}, or leave serve out"
            )
        return agent
    if serve is None and agent.base_url is None:
        if not is_built_in(trainer):
            raise ConfigError(
                "evolve.agent has neither serve nor base_url, so nobody serves the trained models; "
                "set evolve.agent.serve={} to start vLLM for each of them"
            )
        serve = ServeConfig()
    if serve is not None and is_built_in(trainer) and "command" not in serve.model_fields_set:
        serve = serve.model_copy(update={"command": _own_server(trainer)})
    if serve is not None and shutil.which(serve.command[0]) is None:
        raise ConfigError(
            f"evolve.agent.serve.command: there is no program {serve.command[0]!r}; install it, or give its path"
        )
    return agent.model_copy(update={"serve": serve})


def _own_server(trainer: TrainerConfig) -> list[str]:
    # `serve` has no environment of its own.
    return ["env", f"PYTHONPATH={source_root()}", trainer_python(trainer), "-m", "learn.small_model"]


def agent_of(setup: EvolveSetup, model: Path) -> SpeakerConfig:
    """The agent that a trained model is."""
    agent = setup.config.evolve.agent
    return agent.model_copy(update={"model": agent.model.replace(MODEL, str(model))})


def config_of(
    setup: EvolveSetup,
    agent: SpeakerConfig,
    *,
    trials: int = 1,
    seed: int | None = None,
    budget: float | None = None,
) -> Config:
    """The configuration of one phase.

    Args:
        setup: The run.
        agent: Who plays the agent.
        trials: Conversations of each task.
        seed: The seed of its conversations; None: the run's.
        budget: What the phase may cost in US dollars; None: no limit.
    """
    config = setup.config
    model = split_name(agent.model)[1]
    prices = {name.replace(MODEL, model): price for name, price in config.llm.prices.items()}
    return config.model_copy(
        update={
            "seed": config.seed if seed is None else seed,
            "llm": config.llm.model_copy(update={"budget_usd": budget, "prices": prices}),
            "rollout": config.rollout.model_copy(update={"agent": agent, "trials": trials}),
        }
    )


def oracle_config(setup: EvolveSetup, budget: float | None) -> Config:
    """The configuration of the first trajectories, of the scripted agent that follows the golden calls.

    Args:
        setup: The run.
        budget: What it may cost in US dollars; None: no limit.
    """
    config = config_of(setup, SpeakerConfig(model="offline/oracle"), budget=budget)
    rollout = {"user": SpeakerConfig(model=USER), "parts": PartsConfig()}
    return config.model_copy(update={"rollout": config.rollout.model_copy(update=rollout)})


def fix_settings(setup: EvolveSetup) -> None:
    """Write the settings to the folder. If it has some already, they must be the same.

    Raises:
        ConfigError: The folder is of another configuration, or holds something else.
        ArtifactError: Its `config.json` cannot be read.
    """
    store, now = setup.store, _fixed(setup)
    if store.exists(CONFIG):
        _refuse_change(_flat(_read(store)), _flat(now), store)
        return
    others = sorted(path.name for path in store.root.iterdir() if not path.name.startswith("."))
    if others:
        raise ConfigError(
            f"{str(store.root)!r} holds {others[0]!r} and no {CONFIG}; give a new or empty folder with {store.option}"
        )
    store.write(CONFIG, json.dumps(now, indent=2, ensure_ascii=False).encode() + b"\n")


def _fixed(setup: EvolveSetup) -> dict[str, Any]:
    """All settings that change what comes out. There is no key among them: keys are in the environment."""
    config = setup.config
    return {
        "format": "skillweave/1",
        "dataset": setup.dataset.digest,
        "seed": config.seed,
        "plugins": config.plugins,
        "user": config.rollout.user.model_dump(mode="json") if config.rollout.user else None,
        "rollout": config.rollout.model_dump(mode="json", include=set(ROLLOUT)),
        "evaluation": config.evaluation.model_dump(mode="json", exclude=EVALUATION),
        "evolve": config.evolve.model_dump(mode="json", exclude=FREE),
    }


def _read(store: Store) -> Mapping[str, Any]:
    try:
        read = from_json(store.read(CONFIG))
    except ValueError as error:
        raise ArtifactError(f"{CONFIG} of {str(store.root)!r} is not JSON; give another {store.option}") from error
    if not isinstance(read, dict):
        raise ArtifactError(f"{CONFIG} of {str(store.root)!r} is not a JSON object; give another {store.option}")
    return read


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    """Dotted path -> value."""
    return dict(_leaves(value, path))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def _refuse_change(before: Mapping[str, Any], now: Mapping[str, Any], store: Store) -> None:
    for key in sorted({*before, *now}):
        if before.get(key) != now.get(key):
            raise ConfigError(
                f"{str(store.root)!r} is of another configuration: {key} is {_short(before.get(key))} there and "
                f"{_short(now.get(key))} now; give another folder with {store.option}"
            )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
