"""Shows search results as lines of text, with the words marked."""

from __future__ import annotations

from collections.abc import Callable

from focus.commands.status_output import when
from focus.i18n import say
from focus.storage.passages import Passage
from focus.storage.search import Results, SearchHit
from focus.text.formatting import count, inert, printable

Mark = Callable[[str], str]


def found_lines(results: Results, mark: Mark) -> list[str]:
    """The results, each in four lines, and how many there are."""
    lines: list[str] = []
    for number, hit in enumerate(results.hits, results.offset + 1):
        lines += [*_hit_lines(number, hit, mark), ""]
    return [*lines, _summary(results)]


def _hit_lines(number: int, hit: SearchHit, mark: Mark) -> list[str]:
    untitled = say("(no title)")
    facts = [hit.host, when(hit.fetched_at)]
    if hit.changed_at is not None:
        facts.append(say("changed {when}", when=when(hit.changed_at)[:10]))
    facts.append(say("relevance {relevance:.2f}", relevance=hit.relevance))
    if hit.similar:
        facts.append(say("+{similar:,} similar", similar=hit.similar))
    return [
        f"{number}. {marked_text(hit.title, mark) or untitled}",
        f"   {printable(hit.url)}",
        f"   {printable(' · '.join(facts))}",
        f"   {marked_text(hit.snippet, mark)}".rstrip(),
    ]


def marked_text(passage: Passage, mark: Mark) -> str:
    """A passage as one printable line, marked; its control characters become spaces."""
    text, done, parts = passage.text, 0, []
    for begin, end in passage.marks:
        parts += [inert(text[done:begin]), mark(inert(text[begin:end]))]
        done = end
    return "".join([*parts, inert(text[done:])]).strip()


def _summary(results: Results) -> str:
    pages = count(results.pages, "page")
    if results.complete:
        return say("{pages} of {indexed:,}", pages=pages, indexed=results.indexed)
    return say("More than {pages} of {indexed:,}", pages=pages, indexed=results.indexed)
