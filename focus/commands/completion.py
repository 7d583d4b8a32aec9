"""`focus completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from focus.commands.options.option import Command

SHELLS = ("bash", "zsh", "fish")
COMPLETE = "_FOCUS_COMPLETE"  # variable by which a shell asks


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes a shell complete `focus` commands.

    \b
    Example:
        focus completion bash > ~/.local/share/bash-completion/completions/focus
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "focus", COMPLETE).source())
