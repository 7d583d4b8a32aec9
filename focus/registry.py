"""Finds strategies, relevance models and channels by name: ours, and those of other packages.

A package adds one by an entry point of the group (`focus.strategies`, `focus.relevance`,
`focus.channels`), whose name is the name to be typed:

    [project.entry-points."focus.strategies"]
    newest-first = "my_package:NewestFirst"

Names of removed commands, options and strategies are in `REMOVED`, each with its replacement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from focus.errors import ConfigError
from focus.i18n import mark

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

_VECTORS_REMOVED = mark(
    "--vectors was removed; give --kb FILE, or write the words under [narrower] in the topic file"
)

REMOVED = {
    "focus topic new --vectors": _VECTORS_REMOVED,
    "focus topic expand --vectors": _VECTORS_REMOVED,
    "focus crawl --log-format": mark(
        "--log-format was removed; the log is text: --report FILE writes the summary as JSON, "
        "`focus export` the pages"
    ),
    "focus crawl --profile": mark(
        "--profile was removed; run the crawl under py-spy: `py-spy record --subprocesses "
        "-o crawl.svg -- focus crawl …`"
    ),
    "focus judge": mark(
        "`focus judge` was removed; `focus label` asks about pages, and `focus compare --labels` "
        "takes relevance judgments in TREC's qrels format"
    ),
    "focus compare --judgments": mark(
        "--judgments was removed; give relevance judgments with --labels, in TREC's qrels format"
    ),
    "focus tune": mark(
        "`focus tune` was removed; run `focus compare` once for each value, with --param NAME=VALUE"
    ),
    "strategy learned": mark(
        "the strategy learned was removed; use yield, which finds as many relevant pages"
    ),
}
"""Removed feature -> message that names its replacement."""


def check_removed(name: str) -> None:
    """Raise ConfigError with the replacement if a removed feature has this name."""
    if name in REMOVED:
        raise ConfigError(REMOVED[name])


class Registry(Mapping[str, T]):
    """Names and what they stand for, in order: ours first. Ours cannot be replaced.

    Other packages are looked for at the first name that is not ours, as that takes 20 ms, and
    each is imported when its name is asked for. ConfigError for one that cannot be imported.
    """

    def __init__(self, group: str, ours: Mapping[str, T]) -> None:
        self._group, self._ours = group, dict(ours)
        self._loaded: dict[str, T] = {}

    @cached_property
    def _others(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points  # with what reads mail: see above

        found = sorted(entry_points(group=self._group), key=lambda each: each.name)
        return {each.name: each for each in found if each.name not in self._ours}

    def __getitem__(self, name: str) -> T:
        if name in self._ours:
            return self._ours[name]
        if name not in self._loaded:
            self._loaded[name] = self._load(self._others[name])
        return self._loaded[name]

    def _load(self, found: EntryPoint) -> T:
        try:
            kind: T = found.load()
        except Exception as error:  # it is somebody else's code
            package = found.dist.name if found.dist else "?"
            raise ConfigError(
                "{name}: the package {package} registers it under {group}, and {value} "
                "cannot be imported ({error}); mend or uninstall that package",
                name=found.name,
                package=package,
                group=self._group,
                value=found.value,
                error=error,
            ) from error
        return kind

    def __iter__(self) -> Iterator[str]:
        yield from self._ours
        yield from self._others

    def __len__(self) -> int:
        return len(self._ours) + len(self._others)

    def __contains__(self, name: object) -> bool:
        return name in self._ours or name in self._others
