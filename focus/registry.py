"""Registries of strategies, relevance models and channels: built-in ones and those of plugins.

A package adds one with an entry point in the group `focus.strategies`, `focus.relevance` or
`focus.channels`. The name of the entry point is the name that users type:

    [project.entry-points."focus.strategies"]
    newest-first = "my_package:NewestFirst"

Names of removed commands, options and strategies are in `REMOVED`, each with its replacement,
and renamed options in `RENAMED`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from focus.errors import ConfigError
from focus.i18n import mark

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

_VECTORS_REMOVED = mark(
    "--vectors was removed; give --kb FILE, or write the words under [terms] in the topic file"
)
_SHARDS_REMOVED = mark(
    "a cluster has no shards any more: one frontier with any number of workers; to go beyond one "
    "frontier, split the hosts over several crawls and export them together (--db A --db B)"
)
_ORDERS_REMOVED = mark(
    "`focus cluster stop` and `drain` were removed; end the frontier or a worker by Ctrl-C or "
    "SIGTERM"
)
_CLUSTER_VISITS_REMOVED = mark(
    "--amqp was removed here: `focus watch run` and `focus serve` visit sites from this machine"
)

REMOVED = {
    "focus cluster frontier --shard": _SHARDS_REMOVED,
    "focus cluster frontier --shards": _SHARDS_REMOVED,
    "focus cluster frontier --folder": _SHARDS_REMOVED,
    "focus cluster stop": _ORDERS_REMOVED,
    "focus cluster drain": _ORDERS_REMOVED,
    "focus cluster add-seeds": mark(
        "`focus cluster add-seeds` was removed; crawl further seeds with another crawl, and export "
        "both together (--db A --db B)"
    ),
    "focus watch run --amqp": _CLUSTER_VISITS_REMOVED,
    "focus serve --amqp": _CLUSTER_VISITS_REMOVED,
    "focus topic new --vectors": _VECTORS_REMOVED,
    "focus topic suggest --vectors": _VECTORS_REMOVED,
    "focus crawl --log-format": mark(
        "--log-format was removed; the log is text: --summary FILE writes the summary as JSON, "
        "`focus export` the pages"
    ),
    "focus crawl --profile": mark(
        "--profile was removed; run the crawl under py-spy: `py-spy record --subprocesses "
        "-o crawl.svg -- focus crawl …`"
    ),
    "focus research train --folds": mark(
        "--folds was removed; a classifier is tested by five parts"
    ),
    "focus judge": mark(
        "`focus judge` was removed; `focus label` asks about pages, and `focus research compare "
        "--labels` "
        "takes relevance judgments in TREC's qrels format"
    ),
    "focus research compare --judgments": mark(
        "--judgments was removed; give relevance judgments with --labels, in TREC's qrels format"
    ),
    "focus watch vote": mark(
        "`focus watch vote` was removed; use `focus watch mark NAME URL --relevant yes|no|none`"
    ),
    "focus tune": mark(
        "`focus tune` was removed; run `focus research compare` once for each value, with "
        "--param NAME=VALUE"
    ),
    "strategy learned": mark(
        "the strategy learned was removed; use yield, which finds as many relevant pages"
    ),
}
"""Removed feature -> message that names its replacement."""

RENAMED = {
    "focus crawl --report": "--summary",
    "focus crawl --cookies": "--cookie-jar",
    "focus cluster frontier --report": "--summary",
    "focus cluster frontier --cookies": "--cookie-jar",
}
"""Old spelling of an option -> the present one; the old one still works, with a note."""

RENAMED_COMMANDS = {
    "focus topic expand": "focus topic suggest",
    "focus compare": "focus research compare",
    "focus train": "focus research train",
    "focus kb": "focus research kb",
    "focus watch check": "focus watch run --now --verbose",
    "focus watch pause": "focus watch edit --pause",
    "focus watch resume": "focus watch edit --resume",
    "focus watch read": "focus watch mark --read",
    "focus watch delete": "focus watch mark --delete",
    "focus watch secret": "focus watch show --secrets",
}
"""Old command -> the present one, with the options that it needs; the old one still works."""


def check_removed(name: str) -> None:
    """Raise ConfigError with the replacement if a removed feature has this name."""
    if name in REMOVED:
        raise ConfigError(REMOVED[name])


class Registry(Mapping[str, T]):
    """Objects by name: the built-in ones first, then those of entry points, sorted by name.

    An entry point cannot replace a built-in object. Entry points are read when a name that is not
    built in is looked up, because that takes 20 ms, and imported when their object is needed.
    Raises ConfigError for one that cannot be imported.
    """

    def __init__(self, group: str, noun: str, built_in: Mapping[str, T]) -> None:
        self._group, self._noun, self._built_in = group, noun, dict(built_in)
        self._loaded: dict[str, T] = {}

    def find(self, name: str) -> T:
        """Return what a name stands for; raise ConfigError with the nearest one if none has it."""
        if name not in self:
            check_removed(f"{self._noun} {name}")
            near = get_close_matches(name, self, 1)
            raise ConfigError(
                "no {noun} {text!r}; {hint}known: {known}",
                noun=self._noun,
                text=name,
                hint=f"did you mean {near[0]!r}? " if near else "",
                known=", ".join(self),
            )
        return self[name]

    @cached_property
    def _entry_points(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points  # slow: it imports the email package

        points = sorted(entry_points(group=self._group), key=lambda point: point.name)
        return {point.name: point for point in points if point.name not in self._built_in}

    def __getitem__(self, name: str) -> T:
        if name in self._built_in:
            return self._built_in[name]
        if name not in self._loaded:
            self._loaded[name] = self._load(self._entry_points[name])
        return self._loaded[name]

    def _load(self, entry_point: EntryPoint) -> T:
        try:
            kind: T = entry_point.load()
        except Exception as error:  # code of another package can raise anything
            package = entry_point.dist.name if entry_point.dist else "?"
            raise ConfigError(
                "{name}: the package {package} registers it under {group}, but {value} cannot be "
                "imported ({error}); update or uninstall that package",
                name=entry_point.name,
                package=package,
                group=self._group,
                value=entry_point.value,
                error=error,
            ) from error
        return kind

    def __iter__(self) -> Iterator[str]:
        yield from self._built_in
        yield from self._entry_points

    def __len__(self) -> int:
        return len(self._built_in) + len(self._entry_points)

    def __contains__(self, name: object) -> bool:
        return name in self._built_in or name in self._entry_points
