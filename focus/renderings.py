"""Names what a page has to do with scripts: needs none, seems to need them, had them run."""

from __future__ import annotations

from enum import StrEnum


class Rendering(StrEnum):
    """The part that scripts have in a page: none, they seem to be needed, they were run.

    Where they could not be run, the page is kept as it came.
    """

    NONE = ""  # it is whole as it came
    EMPTY_ROOT = "empty-root"  # a shell: a framework draws into an empty element
    NOSCRIPT = "noscript"  # a shell: its noscript asks for JavaScript
    TEMPLATE = "template"  # a shell: places for values that nobody has filled
    EMPTY_LIST = "empty-list"  # a shell: an element that names itself a list is empty
    NO_TEXT = "no-text"  # a shell: scripts, and next to no text and links
    RENDERED = "rendered"
    TIMEOUT = "render-timeout"  # it could not be read within its time
    CRASH = "render-crash"  # the browser died, or the page in it
    TOO_LARGE = "render-too-large"  # what the scripts made is over the cap of a page
    EMPTY = "render-empty"  # the scripts left less of it than had come

    @property
    def is_shell(self) -> bool:
        """Whether it seems to need scripts that nobody has run."""
        return self in _SHELLS

    @property
    def has_failed(self) -> bool:
        """Whether scripts were to be run, and could not be."""
        return self.startswith("render-")


_SHELLS = frozenset(tuple(Rendering)[1:6])
