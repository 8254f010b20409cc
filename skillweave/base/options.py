"""What the command lines share: an option that is given twice, and takes one value, is refused."""

from typing import Any

import typer
from typer.core import TyperGroup


class CommandGroup(TyperGroup):
    """The commands of a program. Typer takes the last of two values in silence; a run would leave out the first."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command, and look at its options before it reads them."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            looking = command.context_class(command, parent=ctx, info_name=name, resilient_parsing=True)
            _, _, given = command.make_parser(looking).parse_args([*rest])
            for number, one in enumerate(given):
                is_flag = getattr(one, "is_flag", False) and not one.secondary_opts
                repeats = getattr(one, "multiple", True) or getattr(one, "count", False) or one.nargs != 1
                if one in given[:number] and not is_flag and not repeats:
                    raise typer.BadParameter(
                        "given more than once, and takes one value; give it once",
                        ctx=looking,
                        param_hint=f"'{one.opts[0]}'",
                    )
        return name, command, rest
