"""Defines a relevance model: its input (`Document`, topic) and its answer (`Judgement`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from focus.records import Region
from focus.score.index_pages import ancestor_pages
from focus.score.matching import Matcher, fold_body
from focus.urls.normal_form import folder_words, url_host

if TYPE_CHECKING:
    from focus.html.parser import Block, Crumb, Parsed, RawLink

_BODY = Region.BODY  # asked of its class, a member takes eight times as long
_OWN_REGIONS = (_BODY, Region.HEADER)
"""Where a page's own text stands: its heading is often in its header."""

_MAX_CITED = 10  # addresses: what leads to more lists them


class Document:
    """The parts of a page that speak of its topic; its text is read only if asked for.

    url      its address, normalised; "" hides its folders, those of what it cites, its breadcrumb
    crumbs   links of its breadcrumb, as written
    source   the page in UTF-8: a keyword that is not in there is nowhere on the page
    blocks   makes the blocks of visible text, in document order
    region   tells where one of these stands, by its number
    """

    def __init__(
        self,
        *,
        title: str = "",
        keywords: str = "",
        description: str = "",
        headings: Sequence[str] = (),
        links: Sequence[RawLink] = (),
        crumbs: Sequence[Crumb] = (),
        url_words: str = "",
        url: str = "",
        source: bytes | None = None,
        blocks: Callable[[], Sequence[Block]] = tuple,
        region: Callable[[int], Region] = lambda _: Region.BODY,
    ) -> None:
        self.title = title
        self.keywords = keywords
        self.description = description
        self.headings = headings
        self.links = links
        self.crumbs = crumbs
        self.url_words = url_words
        self.url = url
        self.source = source
        self._make_blocks = blocks
        self._region_at = region

    @classmethod
    def from_parsed(cls, page: Parsed, source: bytes | None = None, **overrides: Any) -> Document:
        """A page as the parser reads it."""
        names = "title keywords description headings links crumbs blocks region".split()
        return cls(source=source, **{name: getattr(page, name) for name in names} | overrides)

    def may_contain_keyword(self, matcher: Matcher) -> bool:
        """Whether a keyword may stand in the page at all; most pages end here."""
        return self.source is None or matcher.occurs_in_source(self.source)

    @cached_property
    def blocks(self) -> Sequence[Block]:
        """The blocks of visible text."""
        return self._make_blocks()

    @property
    def section(self) -> str:
        """The words of the folders that its address stands in: where its author has filed it."""
        return folder_words(self.url)

    @cached_property
    def ancestor_pages(self) -> Sequence[Crumb]:
        """The index pages above it, by its breadcrumb: addresses and names."""
        return ancestor_pages(self.crumbs, self.url) if self.url and self.crumbs else ()

    @cached_property
    def cited_folders(self) -> Sequence[str]:
        """The same of what its body links to at other hosts, [] where that is too much to tell."""
        if not self.url:
            return []
        home = url_host(self.url)
        hrefs = {link.href for link in self.links if link.region == _BODY}
        other_hosts = [href for href in sorted(hrefs) if _is_other_host(href, home)]
        return [*map(folder_words, other_hosts)] if len(other_hosts) <= _MAX_CITED else []

    @cached_property
    def all_text(self) -> str:
        """All visible text, folded for matching."""
        return fold_body("\n".join(block.text for block in self.blocks))

    @cached_property
    def content(self) -> str:
        """The page's own text, without the site around it, as it stands there."""
        from focus.html.main_content import main_text  # the crawl process parses no page

        return main_text(self.blocks)

    @cached_property
    def main_text(self) -> str:
        """Visible text without navigation: blocks that are less than half links; folded."""
        return fold_body("\n".join(b.text for b in self.blocks if not b.is_linked))

    def own_text(self, matcher: Matcher) -> str:
        """`main` without blocks of the site around the page that hold a keyword; folded."""
        if not matcher.keyword_counts(self.main_text):
            return self.main_text
        texts = (
            text
            for number, block in enumerate(self.blocks)
            if not block.is_linked
            and (
                not matcher.keyword_counts(text := fold_body(block.text))
                or self._region_at(number) in _OWN_REGIONS
            )
        )
        return "\n".join(texts)


def _is_other_host(href: str, host: str) -> bool:
    scheme, _, rest = href.partition("://")
    return scheme in ("http", "https") and not f"{rest}/".startswith(f"{host}/")


class Judgement(msgspec.Struct, frozen=True):
    """A page's relevance, by its parts, and the words that made it.

    terms   the page's strongest words, from models that follow the crawl (`adapts`)
    """

    relevance: float
    parts: dict[str, float]
    matched: dict[str, list[str]]
    terms: dict[str, float] = {}


class Model:
    """A relevance model: page -> number, larger = more about the topic.

    threshold   a page over it counts as relevant; `published_threshold` the paper's
    adapts      the crawl sends it a changed topic and threshold now and then
    defaults    tuned parameters; `published` the paper's where they differ
    """

    name: ClassVar[str]
    source: ClassVar[str]
    threshold: float = 0.5
    published_threshold: ClassVar[float | None] = None
    adapts: ClassVar[bool] = False
    defaults: ClassVar[Mapping[str, float]] = {}
    published: ClassVar[Mapping[str, float | None]] = {}

    def __init__(self, matcher: Matcher, params: Mapping[str, float]) -> None:
        self.matcher = matcher
        self.params = params

    def load_training(self, trained: bytes) -> None:
        """Take over what was learned from examples and labels: numbers in place of its own.

        A model that learns something else says so; ConfigError from one that cannot do
        without when there is nothing (b"").
        """
        if trained:
            corrected = msgspec.msgpack.decode(trained, type=dict[str, float])
            self.params = {**self.params, **corrected}

    def judge(self, page: Document) -> Judgement:
        """The page's relevance with its parts and matched words."""
        raise NotImplementedError

    def matched_keywords(self, **texts: str) -> dict[str, list[str]]:
        """Which keywords stand in each named text: {"title": ["足球"]}; empty ones left out."""
        matched = {
            part: list(self.matcher.keyword_counts(text)) for part, text in texts.items() if text
        }
        return {part: words for part, words in matched.items() if words}
