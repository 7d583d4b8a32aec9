"""`focus completion`: prints the script with which a shell completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from focus.commands.options.option import Command

SHELLS = ("bash", "zsh", "fish")
COMPLETION_VARIABLE = "_FOCUS_COMPLETE"  # variable that a shell sets to ask for completions


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the shell completion script.

    \b
    Example:
        focus completion bash > ~/.local/share/bash-completion/completions/focus
    """
    shell_class = get_completion_class(shell)
    assert shell_class is not None
    click.echo(shell_class(ctx.find_root().command, {}, "focus", COMPLETION_VARIABLE).source())
