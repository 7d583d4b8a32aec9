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
@option("--with-key", is_flag=True, help="Also copy the key file, to FILE.key.")
@option("--force", is_flag=True, help="Replace an existing file.")
@store_options
def backup(db: Path, file: Path, with_key: bool, force: bool) -> None:
    """Copy the database, even while crawls run.

    The copy is one consistent file with all batches written before it began. It is verified,
    written completely or not at all, and readable by you alone. Encrypted passwords and addresses
    need the key file, which is not in the copy: keep it elsewhere, or copy it with --with-key. The
    search index is omitted; `focus search` creates it again.

    \b
    Example:
        focus backup /backup/focus-monday.db
    """
    from focus.alerts import keyfile
    from focus.commands.progress_bar import show_progress
    from focus.commands.settings import check_folder
    from focus.storage.backup import backup

    path = db.expanduser()
    check_folder(file)
    key = keyfile.key_path(path, key_file())
    key_copy = keyfile.key_path(file)
    with ExitStack() as stack:
        if with_key:
            stack.enter_context(keyfile.copying_key(key, key_copy, replace=force))
        progress = stack.enter_context(show_progress(say("Copying")))
        copied = backup(path, file, replace=force, progress=progress)
    _print_copy(copied, file)
    if with_key:
        print_note(
            "The key is in {path}; anybody who has both files can read all secrets", path=key_copy
        )
    elif key.exists():
        print_note(
            "Not included: the key {path}, without which encrypted passwords are lost", path=key
        )


@click.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@option("--with-key", is_flag=True, help="Also restore FILE.key.")
@option("--force", is_flag=True, help="Replace an existing database, which is kept beside it.")
@store_options
def restore(db: Path, file: Path, with_key: bool, force: bool) -> None:
    """Restore a copy made by `focus backup`.

    The copy is verified first. No crawl, watch or server may use the database meanwhile. With
    --force an existing database is replaced in one step and kept as focus.db.old1. Crawls continue
    from the time of the copy. Messages that were sent after that time are sent again.

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
        print_note("The previous database is now {path}", path=restored.replaced)
    if not key.exists():
        print_note("There is no key {path}; encrypted passwords must be entered again", path=key)


def _print_copy(copy_result: CopySummary, path: Path) -> None:
    contents = ", ".join(
        (
            format_count(copy_result.crawls, "crawl"),
            format_count(copy_result.pages, "page"),
            format_count(copy_result.alerts, "alert"),
        )
    )
    print_note(
        "{path}: {held}; {size}, verified",
        path=path,
        held=contents,
        size=format_size(copy_result.bytes),
    )
