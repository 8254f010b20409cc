"""The console command `skillweave`: all programs under one name, each the same as `python -m PROGRAM`."""

import shutil
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from skillweave.base.command import PROGRAMS, advise_as, command_line, end_on_signals, path_here, run_command


def main() -> None:
    """Run a program by its name. Ends the process: 0 done, 1 work failed, 2 wrong usage, 130 interrupted."""
    end_on_signals()
    if Path(sys.argv[0]).name == "__main__.py":
        caller = command_line("skillweave")
    else:
        caller = "skillweave" if shutil.which("skillweave") else path_here(sys.argv[0])
    advise_as(caller)
    with suppress(OSError):
        # Plug-ins may lie in the folder of the command. It comes last: no file there takes the place of a library.
        sys.path += [folder for folder in [str(Path.cwd())] if folder not in sys.path]
    name, *arguments = sys.argv[1:] or [""]
    if name in PROGRAMS:
        import_module(f"{name}.cli.app").main(arguments=arguments)
    run_command(lambda: _choose(caller, [name, *arguments] if name else []))


def _choose(caller: str, arguments: list[str]) -> None:
    """Help, the version, or an error about what is no program."""
    from typing import Annotated

    import typer

    from skillweave import __version__

    def show_version(is_wanted: bool) -> None:
        if is_wanted:
            print(f"skillweave {__version__}")
            raise typer.Exit

    app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)

    @app.callback(
        help="Worlds in which tool-using agents are trained and tested, and tasks whose every label is proven."
    )
    def offer_version(
        version: Annotated[
            bool, typer.Option("--version", help="Show the version and exit.", callback=show_version, is_eager=True)
        ] = False,
    ) -> None:
        pass

    for name in PROGRAMS:
        app.add_typer(import_module(f"{name}.cli.app").app, name=name)
    app(args=arguments, prog_name=caller)


if __name__ == "__main__":
    main()
