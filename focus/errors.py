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


class FocusError(Exception):
    """Root of the tree; `exit_code` is what the command line ends with."""

    exit_code = 1


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
