"""Runs `focus` as a program: sets up the streams, catches errors, gives the exit code."""

from __future__ import annotations

import errno
import gettext
import math
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

import click
from click.core import ParameterSource
from click.shell_completion import shell_complete

from focus.errors import FocusError
from focus.i18n import (
    DOMAIN,
    LOCALE_FOLDER,
    current_language,
    environment_language,
    error_message,
    language_tag,
    say,
    set_language,
    translate,
)
from focus.registry import REMOVED
from focus.text.formatting import printable

INTERRUPTED, TERMINATED = 130, 143
ENOUGH_BYTES = 512_000_000  # of address space, for every command
LEAST_BYTES = 180_000_000  # with less, libraries fail with lines of their own, or end us
_NOT_OUR_FAULT = {
    errno.EACCES, errno.EDQUOT, errno.EMFILE, errno.EPERM, errno.ENOSPC, errno.EROFS,
}  # fmt: skip
_PLAINER = {
    "is not a valid integer range": "is not a whole number",
    "is not a valid integer": "is not a whole number",
    "is not a valid float range": "is not a number",
    "is not a valid float": "is not a number",
}
"""How click says it, and how people do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command (`sys.argv` unless given); the exit code."""
    _speak()
    for stream in (sys.stdout, sys.stderr):
        _use_utf8(stream)
    given = sys.argv[1:] if arguments is None else list(arguments)
    terminated: list[int] = []

    def terminate(*_: object) -> None:
        terminated.append(code)
        sys.exit(code)

    code = 0 if given[:1] in (["crawl"], ["serve"], ["cluster"]) else TERMINATED
    with suppress(ValueError):  # not the main thread: a test, or somebody's program
        signal.signal(signal.SIGTERM, terminate)
    _spare_memory()
    if _address_space() < LEAST_BYTES:
        return _fail(_too_little(say("nothing was begun")), 1)
    try:
        _invoke(given)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, click.Abort):
        return terminated[0] if terminated else INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return 0
    except click.UsageError as error:
        return _fail(_misuse(error), error.exit_code)
    except click.ClickException as error:
        return _fail(error.format_message(), error.exit_code)
    except FocusError as error:
        return _fail(translate(error.message), error.exit_code)
    except BrokenPipeError:
        return _close_quietly()
    except OSError as error:
        if error.errno not in _NOT_OUR_FAULT:
            return _report(error)
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{translate(error_message(error))}", 1)
    except Exception as error:
        return _report(error)


def _speak() -> None:
    """The language that the terminal asks for; click asks gettext, and this the environment."""
    set_language(environment_language(os.environ))
    gettext.textdomain("messages")
    if current_language() != "en":
        os.environ["LANGUAGE"] = language_tag(current_language()).replace("-", "_")
        gettext.bindtextdomain(DOMAIN, str(LOCALE_FOLDER))
        gettext.textdomain(DOMAIN)


def _address_space() -> float:
    """Bytes of memory that this process may map (ulimit -v)."""
    try:
        import resource  # not on Windows
    except ImportError:
        return math.inf
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if soft == resource.RLIM_INFINITY else soft


def _spare_memory() -> None:
    """Where memory is bounded, have numpy start no threads: each would map 40 MB."""
    if _address_space() < math.inf:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _too_little(why: str) -> str:
    return say(
        "{space:,.0f} MB of memory (ulimit -v) are not enough for this command; "
        "give it {enough:,.0f} MB ({error})",
        space=_address_space() / 1e6,
        enough=ENOUGH_BYTES / 1e6,
        error=why,
    )


def _report(error: Exception) -> int:
    """An error that nobody saw coming: a lack of memory, or a mistake of ours."""
    if _address_space() < ENOUGH_BYTES:
        return _fail(_too_little(f"{type(error).__name__}: {error}"), 1)
    if isinstance(error, MemoryError):
        return _fail(
            say("there is not enough memory for this; end other programs, or ask for less"), 1
        )
    return _report_bug()


def _invoke(arguments: list[str]) -> None:
    """One command, or an answer to a shell that completes one.

    `cli.main` would end by itself on a broken pipe.
    """
    from focus.cli import cli
    from focus.commands.completion import COMPLETE

    if asked := os.environ.get(COMPLETE):
        raise click.exceptions.Exit(shell_complete(cli, {}, "focus", COMPLETE, asked))
    with cli.make_context("focus", arguments) as ctx:
        cli.invoke(ctx)


def _use_utf8(stream: TextIO) -> None:
    """UTF-8 whatever the locale says; what cannot be written is escaped."""
    with suppress(AttributeError, OSError, ValueError):  # replaced by a test, or closed
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[attr-defined]


def _misuse(error: click.UsageError) -> str:
    """What was wrong, and where: the option as typed, or the variable."""
    ctx, option = error.ctx, getattr(error, "param", None)
    if removed := _removed(error):
        return removed
    if ctx is None or not isinstance(option, click.Option):
        command = ctx.command_path if ctx else "focus"
        return say(
            "{message} (see `{command} --help`)", message=error.format_message(), command=command
        )
    is_variable = ctx.get_parameter_source(str(option.name)) is ParameterSource.ENVIRONMENT
    where = option.envvar if is_variable else max(option.opts, key=len)
    if isinstance(error, click.MissingParameter):
        return say(
            "{option} is missing (see `{command} --help`)", option=where, command=ctx.command_path
        )
    message = error.message
    for theirs, ours in _PLAINER.items():
        message = message.replace(theirs, ours)
    return f"{where}: {message}"


def _removed(error: click.UsageError) -> str:
    """Return the message for a removed command or option, "" for any other error."""
    name = getattr(error, "command_name", "") or getattr(error, "option_name", "")
    path = error.ctx.command_path if error.ctx else ""
    return say(REMOVED.get(f"{path} {name}", ""))


def _fail(message: str, code: int) -> int:
    with suppress(OSError, ValueError):
        print(say("focus: error: {message}", message=printable(message)), file=sys.stderr)
    return code


def _report_bug() -> int:
    with suppress(OSError, ValueError):
        traceback.print_exc()
        print(
            say("focus: this is a mistake in focus itself; please report the lines above"),
            file=sys.stderr,
        )
    return 1


def _close_quietly() -> int:
    """Whoever read our output has had enough, which is no error; nor shall Python call it one."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    return 0


if __name__ == "__main__":
    sys.exit(main())
