"""Walks the elements of a page once and collects head, links and base address."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from focus.html.blocks import Block, BlockReader
from focus.html.breadcrumbs import MOST, Crumb, begins_trail, crumbs_in
from focus.html.contexts import Contexts
from focus.html.dom import (
    HIDDEN_NAMES,
    HTTP_SPACE,
    IMG,
    LEVELS,
    MAX_ANCHOR,
    MAX_NODES,
    NOSCRIPT,
    SVG,
    Attributes,
    fold,
    tag_ids,
    words_of,
)
from focus.html.regions import AncestryReader
from focus.http.robots_tag import NOTHING, RobotsTag, of_rules
from focus.http.semantics import REFRESH_S, refresh
from focus.records import Region

MAX_TITLE, MAX_META, MAX_LANGUAGE, MAX_HEADINGS, MAX_FEEDS = 500, 2000, 35, 500, 3

_REGIONS = tuple(Region)
MAX_LD = 100_000  # characters of a JSON-LD script that is read
_LISTS = frozenset(("CollectionPage", "SearchResultsPage", "ItemList", "Blog"))
_ARTICLES = frozenset(("Article", "BlogPosting", "NewsArticle", "TechArticle", "QAPage", "Product"))
_NOFOLLOW = frozenset(("nofollow", "ugc", "sponsored"))
_FILES = frozenset(("tag", "category"))
_WAYS = frozenset(("next", "prev", "previous"))
_FEEDS = frozenset(("application/rss+xml", "application/atom+xml"))
_NO_PAGE = ("#", "javascript:", "mailto:", "tel:", "data:")


class RawLink(msgspec.Struct, frozen=True, gc=False):
    """A link as it is written.

    href      as in the page, white space around it taken off; never empty
    anchor    visible text, else the image's alt, else title or aria-label
    heading   the heading above in the same region; a link that is itself (part of) a
              heading has the next higher one: a listing's heading, not its own text
    context   the text before and after it in its block, "" unless asked for
    leads_on  rel=next or rel=prev: to the next page of a series or the one before
    files     rel=tag, or its text is one of article:section and article:tag: to the list of
              what the page is filed under
    """

    href: str
    anchor: str = ""
    heading: str = ""
    region: Region = Region.BODY
    nofollow: bool = False
    context: str = ""
    leads_on: bool = False
    files: bool = False


@dataclass(slots=True)
class Parsed:
    """A parsed page. URLs are raw; None where the page names none.

    keywords   and what Open Graph files it under: article:section, article:tag, news_keywords
    language   of the html element, such as zh-CN
    refresh    where `<meta http-equiv=refresh>` sends on within `REFRESH_S`; None: nowhere else
    asked      of us, by `<meta name=robots>` and the one in our own name
    links      a, area, frame, iframe and a late refresh in document order; not #fragment,
               javascript:, mailto:…
    links_cut  links beyond `max_links`, counted only
    crumbs     its breadcrumb, as links show it and as JSON-LD says it; one of them may be twice
    headings   texts of h1 to h3
    feeds      of its RSS and Atom feeds, `MAX_FEEDS` at most
    articles, paragraphs   how many `<article>` and `<p>` elements it has
    is_article, is_list    by what it says for machines: Open Graph, JSON-LD
    """

    title: str = ""
    keywords: str = ""
    description: str = ""
    language: str = ""
    canonical: str | None = None
    base: str | None = None
    refresh: str | None = None
    asked: RobotsTag = NOTHING
    links: list[RawLink] = field(default_factory=list)
    links_cut: int = 0
    crumbs: list[Crumb] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    feeds: list[str] = field(default_factory=list)
    articles: int = 0
    paragraphs: int = 0
    is_article: bool = False
    is_list: bool = False
    _tree: LexborHTMLParser | None = field(default=None, repr=False)
    _places: AncestryReader = field(default_factory=AncestryReader, repr=False)
    _starts: list[LexborNode] = field(default_factory=list, repr=False)

    @property
    def body(self) -> LexborNode | None:
        """The body element, None where there is none."""
        return self._tree.body if self._tree is not None else None

    def text(self) -> str:
        """Visible text for finding words in: a line per element, folded in no other way.

        A word with markup inside (`foot<b>ball</b>`) falls into two; `blocks` keeps it
        whole at ten times the cost.
        """
        body = self.body
        if body is None:
            return ""
        body.strip_tags(HIDDEN_NAMES.split(), recursive=True)
        return body.text(separator="\n")

    def blocks(self) -> list[Block]:
        """The visible text cut into blocks, in document order."""
        body = self.body
        if body is None:
            return []
        reader = BlockReader()
        blocks, self._starts = reader.read(body), reader.starts
        return blocks

    def region(self, number: int) -> Region:
        """Where a block stands, by its number: it costs what its ancestors do."""
        return self._places.of(self._starts[number]).region


class ElementReader:
    """Fills a `Parsed` while walking its elements in document order."""

    def __init__(self, page: Parsed, *, max_links: int, context: bool, agent: str) -> None:
        self.page = page
        self.agent = agent.lower()
        self.refreshes = False
        self.max_links = max_links
        self.places = page._places
        self.contexts = Contexts() if context else None
        self.shared = ""  # og:description
        self.filed: dict[str, None] = {}  # tags and sections, as Open Graph has them
        self.trail: list[Crumb] = []
        self.trails: set[int] = set()  # elements that hold one, by mem_id
        # By region the headings that a link there stands under, [(level, text)], levels
        # rising. Body and header share one: the page's heading often stands in its header.
        self.outlines: dict[Region, list[tuple[int, str]]] = {region: [] for region in _REGIONS}
        self.outlines[Region.HEADER] = self.outlines[Region.BODY]

    def read(self, root: LexborNode) -> None:
        """Walk the whole tree."""
        self.page.language = fold(root.attributes.get("lang"), MAX_LANGUAGE)
        handlers = {tag: getattr(self, f"_{name}") for tag, name in _HANDLED.items()}
        for node in root.traverse():
            handler = handlers.get(node.tag_id)
            if handler is not None:
                handler(node)
        self.page.description = self.page.description or self.shared
        if len(self.trail) <= MOST:
            self.page.crumbs[:0] = self.trail
        if self.filed:
            told = ", ".join(filter(None, (self.page.keywords, *self.filed)))
            self.page.keywords = fold(told, MAX_META)

    def _title(self, node: LexborNode) -> None:
        above = node.parent
        if not self.page.title and (above is None or above.tag_id != SVG):
            self.page.title = fold(node.text(), MAX_TITLE)

    def _base(self, node: LexborNode) -> None:
        if self.page.base is None:
            self.page.base = node.attributes.get("href")

    def _relation(self, node: LexborNode) -> None:
        attributes = node.attributes
        rel, href = _words(attributes.get("rel")), (attributes.get("href") or "").strip(HTTP_SPACE)
        if self.page.canonical is None and "canonical" in rel:
            self.page.canonical = href or None
        kind = (attributes.get("type") or "").partition(";")[0].strip().lower()
        if href and "alternate" in rel and kind in _FEEDS and len(self.page.feeds) < MAX_FEEDS:
            self.page.feeds.append(href)

    def _meta(self, node: LexborNode) -> None:
        page, attributes = self.page, node.attributes
        content = attributes.get("content") or ""
        name = (attributes.get("name") or attributes.get("property") or "").lower()
        if name in ("robots", self.agent):
            page.asked |= of_rules(content, self.agent)
        match name:
            case "keywords":
                page.keywords = page.keywords or fold(content, MAX_META)
            case "article:section" | "article:tag" | "news_keywords":
                if name := content.strip():
                    self.filed.setdefault(name)
            case "description":
                page.description = page.description or fold(content, MAX_META)
            case "og:description":
                self.shared = self.shared or fold(content, MAX_META)
            case "og:type":
                page.is_article |= content.strip().lower() == "article"
            case "article:published_time":
                page.is_article = True
        if not self.refreshes and (attributes.get("http-equiv") or "").lower() == "refresh":
            self._refresh(node, content)

    def _refresh(self, node: LexborNode, content: str) -> None:
        """The first that is well-formed counts; for those without scripts alone it is a link."""
        seconds, url = refresh(content) or (-1, "")
        self.refreshes = seconds >= 0
        above = node.parent
        if url and seconds <= REFRESH_S and (above is None or above.tag_id != NOSCRIPT):
            self.page.refresh = url
        elif self._is_wanted(url):
            self._add(node, url, "")

    def _article(self, node: LexborNode) -> None:
        self.page.articles += 1

    def _paragraph(self, node: LexborNode) -> None:
        self.page.paragraphs += 1

    def _script(self, node: LexborNode) -> None:
        """Take what a page says that it is (schema.org types, as JSON-LD)."""
        text = node.first_child
        if text is None or "ld+json" not in (node.attributes.get("type") or ""):
            return
        things = list(things_of(text.text_content or ""))
        kinds = {name for thing in things for name in kinds_of(thing)}
        for thing in things:
            if len(self.page.crumbs) < MOST:
                self.page.crumbs.extend(crumbs_in(thing))
        self.page.is_list |= not kinds.isdisjoint(_LISTS)
        self.page.is_article |= not kinds.isdisjoint(_ARTICLES)

    def _heading(self, node: LexborNode) -> None:
        level, text = LEVELS[node.tag_id], words_of(node)
        outline = self.outlines[self.places.of(node).region]
        while outline and outline[-1][0] >= level:
            outline.pop()
        outline.append((level, text))
        if level <= 3 and text and len(self.page.headings) < MAX_HEADINGS:
            self.page.headings.append(text)

    def _link(self, node: LexborNode) -> None:
        attributes = node.attributes
        href = attributes.get("href")
        if href and self._is_wanted(href := href.strip(HTTP_SPACE)):
            anchor = words_of(node) or _spare_anchor(node, attributes)
            self._add(node, href, anchor, attributes.get("rel"))
            begins = begins_trail(node, anchor)
            if begins or self.trails:
                self._follow_trail(node, href, anchor, begins=begins)

    def _frame(self, node: LexborNode) -> None:
        src = (node.attributes.get("src") or "").strip(HTTP_SPACE)
        if self._is_wanted(src):
            self._add(node, src, "")

    def _is_wanted(self, href: str) -> bool:
        """Whether a link leads anywhere and there is room for it; it is counted if not."""
        if not href or href.startswith(_NO_PAGE):
            return False
        if len(self.page.links) < self.max_links:
            return True
        self.page.links_cut += 1
        return False

    def _add(self, node: LexborNode, href: str, anchor: str, rel: str | None = None) -> None:
        place = self.places.of(node)
        region, level, _, is_crumb = place
        outline = self.outlines[region]
        if level:
            heading = next((text for above, text in reversed(outline) if above < level), "")
        else:
            heading = outline[-1][1] if outline else ""
        context = self.contexts.of(node, anchor) if self.contexts is not None else ""
        nofollow = leads_on = files = False
        if rel:
            nofollow, leads_on, files = _meant(rel)
        files = files or anchor in self.filed
        link = RawLink(href, anchor, heading, region, nofollow, context, leads_on, files)
        self.page.links.append(link)
        if is_crumb:
            self.trail.append(Crumb(href, anchor))

    def _follow_trail(self, node: LexborNode, href: str, anchor: str, *, begins: bool) -> None:
        """Take a link of a trail that no name tells, with those beside it."""
        above = node.parent
        if above is None or self.places.of(node).trail:
            return
        if begins:
            self.trails.add(above.mem_id)
        if above.mem_id in self.trails:
            self.trail.append(Crumb(href, anchor))


_HANDLED = (
    tag_ids("title base meta")
    | dict.fromkeys(tag_ids("link"), "relation")
    | dict.fromkeys(tag_ids("a area"), "link")
    | dict.fromkeys(tag_ids("frame iframe"), "frame")
    | dict.fromkeys(tag_ids("p"), "paragraph")
    | tag_ids("article script")
    | dict.fromkeys(LEVELS, "heading")
)


def _meant(rel: str) -> tuple[bool, bool, bool]:
    """Whether a link is not vouched for, leads on in a series, files the page under its target."""
    said = _words(rel)
    return bool(said & _NOFOLLOW), bool(said & _WAYS), bool(said & _FILES)


def _words(text: str | None) -> set[str]:
    return set(text.lower().split()) if text else set()


def _spare_anchor(node: LexborNode, attributes: Attributes) -> str:
    """What a link without text is known by."""
    for child in islice(node.traverse(), MAX_NODES):
        if child.tag_id == IMG and (alt := fold(child.attributes.get("alt"), MAX_ANCHOR)):
            return alt
    names = (fold(attributes.get(name), MAX_ANCHOR) for name in ("alt", "title", "aria-label"))
    return next(filter(None, names), "")


def things_of(text: str) -> Iterator[dict[str, object]]:
    """What a JSON-LD script describes, outermost alone; nothing of one that cannot be read."""
    try:
        told = msgspec.json.decode(text.encode("utf-8", "replace")) if len(text) <= MAX_LD else None
    except (msgspec.DecodeError, RecursionError):
        return
    for each in _listed(told):
        graph = each.get("@graph") if isinstance(each, dict) else None
        for thing in graph if isinstance(graph, list) else [each]:
            if isinstance(thing, dict):
                yield thing


def kinds_of(thing: dict[str, object]) -> Iterator[str]:
    """The schema.org types of a thing, not of what it consists of.

    `{"@type": ["CollectionPage"], "hasPart": {"@type": "Article"}}`: CollectionPage.
    """
    yield from (name for name in _listed(thing.get("@type")) if isinstance(name, str))


def _listed(told: object) -> list[object]:
    return told if isinstance(told, list) else [told]
