"""The commands `train` and `serve`. They need PyTorch and nothing else beside the project's own files."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from skillweave.base.command import run_command
from skillweave.base.errors import ConfigError

NO_TORCH = (
    "PyTorch is missing; install it with pip install torch, or name a Python that has it in evolve.trainer.python"
)
TRAINED = {
    "epochs": "passes over the conversations; 0: as many as take minutes",
    "steps": "the most steps; 0: no bound",
    "batch": "conversations of a step",
    "width": "width of the network, a multiple of 32",
    "layers": "layers of the network",
    "window": "tokens of a conversation that the model sees",
    "learning_rate": "the highest learning rate",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program and end the process.

    Exit status: 0 done, 1 work failed, 2 wrong usage, 130 interrupted.
    """
    given = sys.argv[1:] if arguments is None else arguments
    run_command(lambda: _run(given))


def _run(arguments: Sequence[str]) -> None:
    parser = _parser()
    options, further = parser.parse_known_args(arguments)
    if further and options.command != "serve":
        parser.error(f"unknown options: {' '.join(further)}")
    try:
        import torch
    except ImportError:
        raise ConfigError(NO_TORCH) from None
    torch.set_num_threads(options.threads)
    if options.command == "serve":
        from learn.small_model.server import serve

        serve(options.folder, options.host, options.port, options.served_model_name)
    else:
        _train(options)


def _train(options: argparse.Namespace) -> None:
    from learn.small_model.training import TrainingSettings, run_training

    given = {name: value for name in TRAINED if (value := getattr(options, name)) is not None}
    settings = TrainingSettings(**given)
    wrong = [name for name, value in given.items() if value < 0 or (value == 0 and name not in ("epochs", "steps"))]
    if wrong or settings.width % 32:
        name = wrong[0] if wrong else "width"
        raise ConfigError(f"--{name.replace('_', '-')} is {given[name]!r}; it should be {TRAINED[name]}, above 0")
    run_training(options.data, options.to, options.seed, settings, lambda line: print(line, flush=True))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m learn.small_model", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train", help="train a model from scratch", allow_abbrev=False)
    train.add_argument("--data", type=Path, required=True, help="conversations, a JSON line each: messages and tools")
    train.add_argument("--to", type=Path, required=True, help="the model's folder")
    train.add_argument("--seed", type=int, default=0)
    for name, told in TRAINED.items():
        kind = float if name == "learning_rate" else int
        train.add_argument(f"--{name.replace('_', '-')}", type=kind, help=told)
    serve = commands.add_parser(
        "serve",
        help="serve a model as vLLM does; further options of vLLM are accepted, and ignored",
        allow_abbrev=False,
    )
    serve.add_argument("folder", type=Path, help="the model's folder")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8000)
    serve.add_argument("--served-model-name", help="what requests call the model; by default its folder")
    for each in (train, serve):
        each.add_argument(
            "--threads", type=int, default=1, help="threads; more gain little, and on a busy machine they lose much"
        )
    return parser
