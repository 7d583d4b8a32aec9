"""Says the sentences of generated pages in the language that a page is being written in.

    with written_in("zh"):
        say("{n} cores of {name}", n=2, name="EPYC")      # "2 核 EPYC"

English is the code's own, as in `focus.i18n`; the Chinese of each paragraph stands in chinese.toml
by the English one on one line. So both pages of a language come of one set of figures, and one
that lacks its Chinese is not written.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

LANGUAGES = {"en": Path(), "zh": Path("zh")}
"""Language -> where its pages stand in docs/."""

_DOCS = Path(__file__).parents[1] / "docs"
_WORDS = re.compile(r"[A-Za-z]{2}")
_LANGUAGE = ContextVar("language", default="en")


@cache
def chinese() -> dict[str, str]:
    """English paragraph on one line -> Chinese."""
    return tomllib.loads((Path(__file__).parent / "chinese.toml").read_text("utf-8"))


@contextmanager
def written_in(spoken: str) -> Iterator[None]:
    """Say everything in this language meanwhile."""
    before = _LANGUAGE.set(spoken)
    try:
        yield
    finally:
        _LANGUAGE.reset(before)


def language() -> str:
    """The language of the moment."""
    return _LANGUAGE.get()


def say(text: str, **values: Any) -> str:
    """A text, paragraph by paragraph in the page's language, with its values put in.

    Raises LookupError where the Chinese of one is missing; what is only values and signs has none.
    """
    if language() == "zh":
        text = "\n\n".join(map(_translated, text.split("\n\n")))
    return text.format(**values)


def named(name: str) -> str:
    """What a result calls something (a row, a cell): in Chinese if that is known."""
    return chinese().get(name, name) if language() == "zh" else name


def _translated(paragraph: str) -> str:
    line = " ".join(paragraph.split())
    if not _WORDS.search(re.sub(r"{[^}]*}", "", line)):
        return paragraph
    if line not in chinese():
        raise LookupError(f"bench/chinese.toml lacks the Chinese of: {line}")
    return chinese()[line] + "\n" * paragraph.endswith("\n")


def write_both(name: str, made: Callable[[], str]) -> None:
    """Write a page of docs/ in each language."""
    for spoken, folder in LANGUAGES.items():
        page = _DOCS / folder / name
        with written_in(spoken):
            page.write_text(made().rstrip() + "\n", encoding="utf-8")
        print(f"written: {page}")
