"""`focus research`: commands for comparing strategies and training models."""

from __future__ import annotations

import click

from focus.commands.compare import compare_command
from focus.commands.kb import kb
from focus.commands.options.help import Group
from focus.commands.train import train


@click.group(cls=Group)
def research() -> None:
    """Compare strategies, train classifiers, use knowledge bases.

    \b
    Example:
        focus research compare --archive web.warc.zst --topics topics.json -o out/
    """


for command in (compare_command, train, kb):
    research.add_command(command)
