"""Registries of strategies, relevance models, judges and channels: built-in and of plugins.

A package adds one with an entry point in the group `focus.strategies`, `focus.relevance`,
`focus.judges` or `focus.channels`. The name of the entry point is the name that users type:

    [project.entry-points."focus.strategies"]
    newest-first = "my_package:NewestFirst"

Renamed options are in `RENAMED`, renamed commands in `RENAMED_COMMANDS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from focus.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

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
