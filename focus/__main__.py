"""Runs `focus` as a program: sets up the streams, reports errors, returns the exit code."""

from __future__ import annotations

import errno
import gettext
import math
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
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
from focus.text.formatting import printable

INTERRUPTED, TERMINATED = 130, 143
SUFFICIENT_BYTES = 512_000_000  # of address space; enough for every command
MIN_BYTES = 180_000_000  # with less, libraries print errors of their own or end the process
_SYSTEM_ERRNOS = {
    errno.EACCES, errno.EDQUOT, errno.EMFILE, errno.EPERM, errno.ENOSPC, errno.EROFS,
}  # fmt: skip
_PLAIN_PHRASES = {
    "is not a valid integer range": "is not a whole number",
    "is not a valid integer": "is not a whole number",
    "is not a valid float range": "is not a number",
    "is not a valid float": "is not a number",
}
"""Phrases of click's messages -> plainer ones."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, of `sys.argv` by default, and return the exit code."""
    _open_closed_streams()
    _ensure_home()
    _set_up_language()
    for stream in (sys.stdout, sys.stderr):
        _use_utf8(stream)
    args = sys.argv[1:] if arguments is None else list(arguments)
    terminated: list[int] = []

    def terminate(*_: object) -> None:
        terminated.append(code)
        sys.exit(code)

    code = 0 if args[:1] in (["crawl"], ["serve"], ["cluster"]) else TERMINATED
    with suppress(ValueError):  # another thread than the main one, as in tests
        signal.signal(signal.SIGTERM, terminate)
    _limit_threads()
    if _address_space() < MIN_BYTES:
        return _print_error(_memory_message(say("nothing was started")), 1)
    try:
        _run_command(args)
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
        return _print_error(_usage_message(error), error.exit_code)
    except click.ClickException as error:
        return _print_error(error.format_message(), error.exit_code)
    except FocusError as error:
        return _print_error(translate(error.message), error.exit_code)
    except BrokenPipeError:
        return _close_stdout()
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not _has_working_directory():
            return _print_error(
                say("the working directory has been deleted; change to another one"), 1
            )
        if error.errno not in _SYSTEM_ERRNOS:
            return _report_exception(error)
        where = f"{error.filename}: " if error.filename else ""
        return _print_error(f"{where}{translate(error_message(error))}", 1)
    except UnicodeEncodeError as error:
        if not (unreadable := [arg for arg in args if _has_stray_bytes(arg)]):
            return _report_exception(error)
        return _print_error(say("{argument}: is not UTF-8", argument=unreadable[0]), 2)
    except Exception as error:
        return _report_exception(error)


def _open_closed_streams() -> None:
    """Open the null device in place of closed standard streams (`>&-`).

    Otherwise the next file or socket would get the number of a standard stream.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                if os.open(os.devnull, os.O_RDWR) == number:
                    setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w"))


def _ensure_home() -> None:
    """Use the working directory as home if neither HOME nor the password file names one."""
    if os.environ.get("HOME") == "":
        del os.environ["HOME"]
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = str(Path.cwd()) if _has_working_directory() else tempfile.gettempdir()


def _has_working_directory() -> bool:
    try:
        Path.cwd()
    except OSError:
        return False
    return True


def _has_stray_bytes(argument: str) -> bool:
    """Return whether an argument has bytes that are not UTF-8."""
    return any("\udc80" <= char <= "\udcff" for char in argument)


def _set_up_language() -> None:
    """Set the language of the terminal; click uses gettext, which reads the environment."""
    set_language(environment_language(os.environ))
    gettext.textdomain("messages")
    if current_language() != "en":
        os.environ["LANGUAGE"] = language_tag(current_language()).replace("-", "_")
        gettext.bindtextdomain(DOMAIN, str(LOCALE_FOLDER))
        gettext.textdomain(DOMAIN)


def _address_space() -> float:
    """Return the bytes of memory that this process may map (ulimit -v)."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if soft == resource.RLIM_INFINITY else soft


def _limit_threads() -> None:
    """Stop numpy from starting threads if memory is limited: each would map 40 MB."""
    if _address_space() < math.inf:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _memory_message(why: str) -> str:
    return say(
        "{space:,.0f} MB of memory (ulimit -v) are not enough for this command; allow "
        "{enough:,.0f} MB ({error})",
        space=_address_space() / 1e6,
        enough=SUFFICIENT_BYTES / 1e6,
        error=why,
    )


def _report_exception(error: Exception) -> int:
    """Report an unexpected error: a lack of memory, or a bug."""
    if _address_space() < SUFFICIENT_BYTES:
        return _print_error(_memory_message(f"{type(error).__name__}: {error}"), 1)
    if isinstance(error, MemoryError):
        return _print_error(
            say("there is not enough memory for this; end other programs, or ask for less"), 1
        )
    return _report_bug()


def _run_command(arguments: list[str]) -> None:
    """Run one command, or answer a shell that completes one.

    `cli.main` would exit by itself on a broken pipe.
    """
    from focus.cli import cli
    from focus.commands.completion import COMPLETION_VARIABLE

    if instruction := os.environ.get(COMPLETION_VARIABLE):
        raise click.exceptions.Exit(
            shell_complete(cli, {}, "focus", COMPLETION_VARIABLE, instruction)
        )
    with cli.make_context("focus", arguments) as ctx:
        cli.invoke(ctx)


def _use_utf8(stream: TextIO) -> None:
    """Write UTF-8 in any locale; characters that cannot be written are escaped."""
    with suppress(AttributeError, OSError, ValueError):  # replaced by a test, or closed
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[attr-defined]


def _usage_message(error: click.UsageError) -> str:
    """Return what is wrong and where: the option as typed, or the variable."""
    ctx, option = error.ctx, getattr(error, "param", None)
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
    for phrase, plain_phrase in _PLAIN_PHRASES.items():
        message = message.replace(phrase, plain_phrase)
    return f"{where}: {message}"


def _print_error(message: str, code: int) -> int:
    with suppress(OSError, ValueError):
        print(say("focus: error: {message}", message=printable(message)), file=sys.stderr)
    return code


def _report_bug() -> int:
    with suppress(OSError, ValueError):
        traceback.print_exc()
        print(say("focus: this is a bug in focus; please report the lines above"), file=sys.stderr)
    return 1


def _close_stdout() -> int:
    """Close standard output after its reader has gone, so that Python reports no error."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    return 0


if __name__ == "__main__":
    sys.exit(main())
