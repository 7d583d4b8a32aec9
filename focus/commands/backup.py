"""`focus backup` and `focus restore`: copy a database that is in use, and put a copy back."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from focus.commands.options.channel import key_file, store_options
from focus.commands.options.option import Command, option, print_note
from focus.i18n import say
from focus.text.formatting import format_count, format_size

if TYPE_CHECKING:
    from focus.storage.backup import CopySummary


@click.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@option("--with-key", is_flag=True, help="Copy the key file, too: to FILE.key.")
@option("--force", is_flag=True, help="Take the place of a file of that name.")
@store_options
def backup(db: Path, file: Path, with_key: bool, force: bool) -> None:
    """Copy the database while crawls and watches run.

    The copy is one consistent file: every batch that was written when it began, none in part.
    It is checked page by page and appears whole or not at all, readable by you alone. What
    seals passwords and addresses in it is the key file, which is not in the copy: keep that
    apart, or take it along with --with-key. The search index is left out; `focus search` makes
    it again.

    \b
    Example:
        focus backup /backup/focus-monday.db
    """
    from focus.alerts import keyfile
    from focus.commands.progress_bar import show_progress
    from focus.storage.backup import backup

    path = db.expanduser()
    key = keyfile.key_path(path, key_file())
    key_copy = keyfile.key_path(file)
    with ExitStack() as stack:
        if with_key:
            stack.enter_context(keyfile.copying_key(key, key_copy, replace=force))
        progress = stack.enter_context(show_progress(say("Copying")))
        copied = backup(path, file, replace=force, progress=progress)
    _print_copy(copied, file)
    if with_key:
        print_note("The key is in {path}: who has both, has all", path=key_copy)
    elif key.exists():
        print_note("Not in it: the key {path}, without which sealed passwords are lost", path=key)


@click.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@option("--with-key", is_flag=True, help="Put FILE.key back, too.")
@option("--force", is_flag=True, help="Replace a database that is there; it is kept beside.")
@store_options
def restore(db: Path, file: Path, with_key: bool, force: bool) -> None:
    """Put a copy that `focus backup` made back as the database.

    The copy is checked first: that it is sound, and of a format that this focus knows. No crawl,
    watch or server may have the database open. With --force one that is there is replaced in one
    step, and kept beside it as focus.db.old1. Crawls go on from where they were when the copy was
    made; news that was sent since is found and sent again.

    \b
    Example:
        focus restore /backup/focus-monday.db --force
    """
    from focus.alerts import keyfile
    from focus.alerts.run import watch_lock
    from focus.commands.progress_bar import show_progress
    from focus.storage.backup import restore
    from focus.storage.private import create_folder

    path = db.expanduser()
    key = keyfile.key_path(path, key_file())
    create_folder(path)
    with ExitStack() as stack:
        stack.enter_context(watch_lock(path))
        if with_key:
            stack.enter_context(keyfile.copying_key(keyfile.key_path(file), key, replace=force))
        progress = stack.enter_context(show_progress(say("Copying")))
        restored = restore(file, path, replace=force, pid=os.getpid(), progress=progress)
    _print_copy(restored, path)
    if restored.replaced is not None:
        print_note("What was there is {path}", path=restored.replaced)
    if not key.exists():
        print_note("There is no key {path}: what it sealed has to be typed anew", path=key)


def _print_copy(copy_result: CopySummary, path: Path) -> None:
    contents = ", ".join(
        (
            format_count(copy_result.crawls, "crawl"),
            format_count(copy_result.pages, "page"),
            format_count(copy_result.alerts, "alert"),
        )
    )
    print_note(
        "{path}: {held}; {size}, sound",
        path=path,
        held=contents,
        size=format_size(copy_result.bytes),
    )
