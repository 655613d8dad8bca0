"""Groups of commands that are imported when they are called: ``ehnn --help`` needs no PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup


@dataclass(frozen=True)
class Lazy:
    """A command that is not imported yet.

    Attributes:
        load: returns a typed function, or a `typer.Typer`.
        help: one line for the list of commands; None: the command's own.
        bare: whether the command does something without arguments, in place of its help.
        settings: of the context of a function; a command with settings of its own is not listed.
    """

    load: Callable[[], Any]
    help: str | None = None
    bare: bool = False
    settings: dict[str, Any] | None = None


def at(place: str) -> Callable[[], Any]:
    """Imports ``module:name``."""
    module, _, name = place.partition(":")
    return lambda: getattr(import_module(module), name)


class LazyGroup(TyperGroup):
    """A group whose subclass names its commands in ``lazy``."""

    lazy: ClassVar[Mapping[str, Lazy]] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of the table, then those that typer knows."""
        return list(dict.fromkeys([*self.lazy, *super().list_commands(ctx)]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command by name; None if there is no such command."""
        if cmd_name in self.lazy and cmd_name not in self.commands:
            self.commands[cmd_name] = _made(cmd_name, self.lazy[cmd_name])
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands; those with a line of help are not imported for it."""
        rows = [(name, self._line(ctx, name)) for name in self.list_commands(ctx)]
        shown = [(name, line) for name, line in rows if line is not None]
        if shown:
            with formatter.section("Commands"):
                formatter.write_dl(shown)

    def _line(self, ctx: Any, name: str) -> str | None:
        known = self.lazy.get(name)
        if known is not None and known.settings is not None:
            return None
        if known is not None and known.help is not None:
            return known.help
        command = self.get_command(ctx, name)
        return None if command is None or command.hidden else command.get_short_help_str(80)


def _made(name: str, known: Lazy) -> Any:
    """The command itself, in plain text like the rest."""
    found = known.load()
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False)
        hidden = known.settings is not None
        alone.command(name, no_args_is_help=not known.bare, context_settings=known.settings, hidden=hidden)(
            found
        )
        found = alone
    found.rich_markup_mode = None
    found._add_completion = False
    command = typer.main.get_command(found)
    command.name = name
    return command
