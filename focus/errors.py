"""Defines every error that a user of focus can meet, as one tree.

    FocusError                 something the user can act on; never a traceback
    ├── ConfigError            option, environment variable or focus.toml        exit 2
    │   └── TopicError         topic words or topic file                         exit 2
    ├── StoreError             database: other program, other version, disk      exit 1
    │   └── StoreLocked        another crawl holds this database                 exit 5
    ├── KnowledgeError         knowledge base or dump                            exit 1
    ├── ArchiveError           WARC file that cannot be read or written          exit 1
    ├── ExportError            output file or format                             exit 1
    └── ClusterError           broker, or another role of the cluster            exit 7

A page that cannot be fetched is no error but a result with a `FailureKind`
(records.py). The message of each error is one line: what, where, what to do.
"""

from __future__ import annotations

from focus.i18n import Msg, msg


class FocusError(Exception):
    """Root of the tree; `exit_code` is what the command line ends with, `line` what it says.

    Made of an id of the catalogue and its values (i18n): ConfigError("no alert {name!r}", name=x).
    """

    exit_code = 1

    def __init__(self, line: str = "", /, **values: object) -> None:
        super().__init__(msg(line, **values))

    @property
    def line(self) -> Msg:
        """The message, for whoever tells it in the reader's language."""
        found: Msg = self.args[0]
        return found


class ConfigError(FocusError):
    """An option, variable or configuration file that makes no sense."""

    exit_code = 2


class TopicError(ConfigError):
    """Topic words or a topic file that cannot be used."""


class StoreError(FocusError):
    """The database cannot be read or written."""


class StoreLocked(StoreError):
    """Another process is crawling into this database."""

    exit_code = 5


class KnowledgeError(FocusError):
    """A knowledge base or a dump that cannot be read or written."""


class ArchiveError(FocusError):
    """A WARC file that cannot be read or written."""


class ExportError(FocusError):
    """An output that cannot be produced."""


class ClusterError(FocusError):
    """The broker cannot be used, or the cluster has no place for this role."""

    exit_code = 7
