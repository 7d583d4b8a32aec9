"""The interface of a relevance model: its input (`Document`, topic) and result (`Judgement`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from focus.records import Region
from focus.score.index_pages import ancestor_pages
from focus.score.matching import Matcher, fold_body
from focus.text.site_texts import hash_text
from focus.urls.normal_form import url_host
from focus.urls.patterns import folder_words

if TYPE_CHECKING:
    from focus.html.blocks import Block
    from focus.html.breadcrumbs import Crumb
    from focus.html.reader import ParsedPage, RawLink

_BODY = Region.BODY  # attribute access on an enum class is eight times slower
_OWN_REGIONS = (_BODY, Region.HEADER)
"""Regions of a page's own text; its heading is often in the header."""

MAX_TEXT_CHARS = 200_000  # characters of a text that are searched: 60 related terms take 0.2 s
MAX_TEMPLATE_CHARS = 300  # a longer text is never part of a template
MAX_KEYWORD_BLOCKS, MAX_KEYWORD_LINKS = 16, 16  # hashes per page
_MAX_CITED = 10  # a page with more addresses on other hosts is a list


class Document:
    """The parts of a page that indicate its topic. Its text is extracted only when used.

    url      normalised address; "" hides its folders, the folders of cited addresses, its
             breadcrumb
    crumbs   links of its breadcrumb, as written
    blocks   function that returns the blocks of visible text, in document order
    region   function that returns the region of the block with an index
    template_blocks  hashes of texts that the site repeats: they are not part of the page
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
        blocks: Callable[[], Sequence[Block]] = tuple,
        region: Callable[[int], Region] = lambda _: Region.BODY,
        template_blocks: frozenset[int] = frozenset(),
    ) -> None:
        self.title = title
        self._repeatable = [text for text in (keywords, description) if text]
        self._template_blocks = template_blocks
        self.keywords = "" if self._is_template(keywords) else keywords
        self.description = "" if self._is_template(description) else description
        self.headings = headings
        self.links = links
        self.crumbs = crumbs
        self.url_words = url_words
        self.url = url
        self._make_blocks = blocks
        self._region_at = region

    @classmethod
    def from_parsed(cls, page: ParsedPage, **overrides: Any) -> Document:
        """Return the document of a parsed page; `overrides` replace its fields."""
        names = ("title", "keywords", "description", "headings", "links", "crumbs")
        fields: dict[str, Any] = {name: getattr(page, name) for name in names}
        fields |= {"blocks": page.extract_blocks, "region": page.block_region}
        return cls(**fields | overrides)

    def _is_template(self, text: str) -> bool:
        return bool(self._template_blocks) and hash_text(text) in self._template_blocks

    @cached_property
    def all_blocks(self) -> Sequence[Block]:
        """Blocks of visible text, including those of the site's template."""
        return self._make_blocks()

    @cached_property
    def _numbered_blocks(self) -> Sequence[tuple[int, Block]]:
        """Blocks that are not part of the site's template, with their index in `all_blocks`."""
        return [pair for pair in enumerate(self.all_blocks) if not self._is_template(pair[1].text)]

    @cached_property
    def blocks(self) -> Sequence[Block]:
        """Blocks of visible text that are not part of the site's template."""
        if not self._template_blocks:
            return self.all_blocks
        return [block for _, block in self._numbered_blocks]

    def keyword_blocks(self, matcher: Matcher) -> tuple[int, ...]:
        """Return the hashes of its own texts with a topic word, which may belong to a template.

        These are links, blocks that are not mostly links, and meta keywords and description.
        """
        texts = self._repeatable + [
            block.text
            for block in self.all_blocks
            if not block.is_linked and len(block.text) <= MAX_TEMPLATE_CHARS
        ]
        if not matcher.word_counts(fold_body("\n".join(texts))):  # one search for most pages
            texts = []
        blocks = (hash_text(text) for text in texts if matcher.word_counts(fold_body(text)))
        score = matcher.keyword_score
        links = (
            self._link_hash(number)
            for number, link in enumerate(self.links)
            if link.anchor and score[link.anchor] > 0.0
        )
        hashes = (*islice(blocks, MAX_KEYWORD_BLOCKS), *islice(links, MAX_KEYWORD_LINKS))
        return tuple(dict.fromkeys(hashes))

    def is_template_link(self, number: int) -> bool:
        """Return whether a link is part of a list that the site repeats, such as a sidebar."""
        return bool(self._template_blocks) and self._link_hash(number) in self._template_blocks

    def _link_hash(self, number: int) -> int:
        """Return a hash of a link with those beside it, which differ for the tag of an article."""
        beside = self.links[max(0, number - 1) : number + 2]
        return hash_text("\n".join(link.anchor for link in beside))

    @property
    def section(self) -> str:
        """Words of the folders in its address, where the author has filed it."""
        return folder_words(self.url)

    @cached_property
    def ancestor_pages(self) -> Sequence[Crumb]:
        """Index pages above it in its breadcrumb, with addresses and names."""
        return ancestor_pages(self.crumbs, self.url) if self.url and self.crumbs else ()

    @cached_property
    def cited_folders(self) -> Sequence[str]:
        """Folder words of the addresses on other hosts that its body links to.

        Empty if there are too many such addresses.
        """
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
        """The page's own text, without navigation and other text of the site, not folded."""
        from focus.html.main_content import main_text  # the crawl process parses no page

        return main_text(self.blocks)

    @cached_property
    def full_content(self) -> str:
        """The content with texts of the template: the same before and after these are learned."""
        from focus.html.main_content import main_text  # the crawl process parses no page

        if len(self.blocks) == len(self.all_blocks):
            return self.content
        return main_text(self.all_blocks)

    @cached_property
    def main_text(self) -> str:
        """Visible text without navigation (blocks that are mostly links), folded."""
        return fold_body("\n".join(b.text for b in self.blocks if not b.is_linked))

    @property
    def linked_text(self) -> str:
        """Visible text of the blocks that are mostly links, folded."""
        return fold_body("\n".join(b.text for b in self.blocks if b.is_linked))

    def own_text(self, matcher: Matcher) -> str:
        """Return the start of `main_text`, without blocks of the site that have a keyword."""
        start = self.main_text[:MAX_TEXT_CHARS]
        if not matcher.has_keyword(start):
            return start
        texts = (
            text
            for number, block in self._numbered_blocks
            if not block.is_linked
            and (
                not matcher.has_keyword(text := fold_body(block.text))
                or self._region_at(number) in _OWN_REGIONS
            )
        )
        return "\n".join(texts)[:MAX_TEXT_CHARS]


def _is_other_host(href: str, host: str) -> bool:
    scheme, _, rest = href.partition("://")
    return scheme in ("http", "https") and not f"{rest}/".startswith(f"{host}/")


class Judgement(msgspec.Struct, frozen=True):
    """The relevance of a page with its parts.

    parts    part of the page -> its value
    matched  part of the page -> keywords found there
    terms    the page's strongest words, from models that follow the crawl (`adapts`)
    """

    relevance: float
    parts: dict[str, float]
    matched: dict[str, list[str]]
    terms: dict[str, float] = {}


class Model:
    """A relevance model: page -> number; larger means more about the topic.

    threshold            relevance above which a page counts as relevant
    published_threshold  the threshold of the paper
    adapts               whether the crawl sends it changed topics and thresholds
    defaults             tuned parameters
    published            parameters of the paper, where they differ
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
        """Load what was learned from examples and labels: parameters that replace its own.

        Models with another kind of training override this. Raises ConfigError if the model needs
        training and `trained` is empty.
        """
        if trained:
            corrected = msgspec.msgpack.decode(trained, type=dict[str, float])
            self.params = {**self.params, **corrected}

    def part_weights(self) -> dict[str, float]:
        """Return the weight of each part, and the `bias`, if the relevance is 1/(1 + e^-sum).

        It is empty for a model that computes relevance in another way.
        """
        return {}

    def judge(self, page: Document) -> Judgement:
        """Return the relevance of a page with its parts and matched words."""
        raise NotImplementedError

    def matched_keywords(self, **texts: str) -> dict[str, list[str]]:
        """Return the keywords in each text, {"title": ["足球"]}, without texts that have none."""
        matched = {
            part: list(self.matcher.keyword_counts(text)) for part, text in texts.items() if text
        }
        return {part: words for part, words in matched.items() if words}
