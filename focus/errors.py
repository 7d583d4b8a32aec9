"""Errors that a user of focus can see, as one tree of classes.

    FocusError                 an error that the user can act on; shown without a traceback
    ├── ConfigError            option, environment variable or focus.toml        exit 2
    │   └── TopicError         keywords or topic file                            exit 2
    ├── StoreError             database: other program, other version, disk      exit 1
    │   └── StoreLocked        another crawl uses this database                  exit 5
    ├── KnowledgeError         knowledge base or dump                            exit 1
    ├── ArchiveError           WARC file that cannot be read or written          exit 1
    ├── ExportError            output file or format                             exit 1
    ├── LanguageModelError     no usable answer of a language model              exit 1
    └── ClusterError           broker, or another role of the cluster            exit 7

A page that cannot be fetched is a result with a `FailureKind` (records.py), not an error. The
message of each error is one line: what is wrong, where, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from focus.i18n import Msg, msg


class FocusError(Exception):
    """Root of the tree; `exit_code` is the exit code of the command.

    Arguments are a message id and its values (i18n): ConfigError("no alert {name!r}", name=x).
    """

    exit_code = 1

    def __init__(self, message: str = "", /, **values: object) -> None:
        super().__init__(msg(message, **values))

    @property
    def message(self) -> Msg:
        """The message, to be translated to the language of its reader."""
        message: Msg = self.args[0]
        return message


class ConfigError(FocusError):
    """An option, environment variable or configuration file with an invalid value."""

    exit_code = 2


class TopicError(ConfigError):
    """Keywords or a topic file that cannot be used."""


class StoreError(FocusError):
    """The database cannot be read or written."""


class StoreLocked(StoreError):
    """Another crawl uses this database."""

    exit_code = 5


class KnowledgeError(FocusError):
    """A knowledge base or a dump that cannot be read or written."""


class ArchiveError(FocusError):
    """A WARC file that cannot be read or written."""


class ExportError(FocusError):
    """An output that cannot be produced."""


class LanguageModelError(FocusError):
    """The endpoint of a language model gave no usable answer."""


class ClusterError(FocusError):
    """The broker cannot be used, or the cluster does not accept this process."""

    exit_code = 7


@contextmanager
def refuse_deep_nesting() -> Iterator[None]:
    """Raise ValueError in place of RecursionError, for parsers of TOML and JSON."""
    try:
        yield
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
