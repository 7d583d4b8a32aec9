"""Walks the elements of a page once and collects head, links and base URL."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from focus.html.blocks import Block
from focus.html.breadcrumbs import MAX_TRAIL_LINKS, Crumb, is_trail_start, parse_crumbs
from focus.html.contexts import ContextReader
from focus.html.dom import (
    HEADING_LEVELS,
    HTTP_SPACE,
    IMG,
    MAX_ANCHOR,
    MAX_NODES,
    NOSCRIPT,
    SVG,
    Attributes,
    fold,
    node_text,
    tag_ids,
)
from focus.html.json_ld import parse_json_ld, schema_types
from focus.html.main_content import read_blocks
from focus.html.regions import AncestryReader
from focus.html.size_guard import limit_markup
from focus.http.robots_tag import NO_RULES, RobotsTag, parse_rules
from focus.http.semantics import MAX_REDIRECT_DELAY_S, parse_refresh
from focus.records import Region

MAX_TITLE, MAX_META, MAX_LANGUAGE, MAX_HEADINGS, MAX_FEEDS = 500, 2000, 35, 500, 3
MAX_SITE_NAME = 200

_REGIONS = tuple(Region)
_INDEX_PAGE_TYPES = frozenset(("CollectionPage", "SearchResultsPage", "ItemList", "Blog"))
_ARTICLE_TYPES = frozenset(
    ("Article", "BlogPosting", "NewsArticle", "TechArticle", "QAPage", "Product")
)
_NOFOLLOW_RELS = frozenset(("nofollow", "ugc", "sponsored"))
_TAG_RELS = frozenset(("tag", "category"))
_PAGINATION_RELS = frozenset(("next", "prev", "previous"))
_FEED_TYPES = frozenset(("application/rss+xml", "application/atom+xml"))
_XML_TYPES = frozenset(("application/rdf+xml", "application/xml", "text/xml"))
_FEED_TITLE = re.compile(r"\brss\b", re.I)  # makes XML of these types a feed, as in browsers
_ROUTE_PREFIXES = ("#/", "#!/")
_COMMENT_FEED = re.compile(
    r"/comments?/(?:feed|default)|comments-(?:rss2?|atom)|\bcomments?\b[^/]*\Z|评论|評論|留言|回應",
    re.IGNORECASE,
)
"""Address and title of a feed of comments."""
_TEMPLATE_TAG = re.compile(r"(</?)template\b", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\{\{|\$\{|<%|\[\[")
_NON_PAGE_PREFIXES = ("#", "javascript:", "mailto:", "tel:", "data:")


class RawLink(msgspec.Struct, frozen=True, gc=False):
    """A link as written.

    href           without white space around it; never empty
    anchor         visible text, else the image's alt, else title or aria-label
    heading        the heading above in the same region; a link that is itself (part of) a heading
                   has the next higher one: the heading of its list, not its own text
    context        the text before and after it in its block, "" unless requested
    is_pagination  rel=next or rel=prev: leads to the next or previous page of a series
    is_tag         rel=tag, or its text is one of article:section and article:tag: leads to the
                   index page of a tag or section of the page
    """

    href: str
    anchor: str = ""
    heading: str = ""
    region: Region = Region.BODY
    nofollow: bool = False
    context: str = ""
    is_pagination: bool = False
    is_tag: bool = False


@dataclass(slots=True)
class ParsedPage:
    """A parsed page. URLs are as written; None where the page names none.

    keywords       with those of Open Graph: article:section, article:tag, news_keywords
    language       of the html element, such as zh-CN
    site_name      by Open Graph or other metadata, else the publisher by JSON-LD
    refresh_url    target of an early (`MAX_REDIRECT_DELAY_S`) `<meta http-equiv=refresh>` or None
    robots         rules of `<meta name=robots>` and of the one with our agent's name
    links          a, area, frame, iframe and a late refresh in document order; not #fragment,
                   javascript:, mailto:…
    omitted_links  number of links beyond `max_links`
    omitted_routes  links to `#/route`, unless they are read as links
    crumbs         the breadcrumb from links and from JSON-LD; a crumb may occur twice
    headings       texts of h1 to h3
    generator      software that the page names, a line for each
    feed_urls      of its RSS and Atom feeds except feeds of comments, `MAX_FEEDS` at most
    article_count, paragraph_count  numbers of `<article>` in the body and of `<p>`
    is_article, is_index_page       by its metadata for machines: Open Graph, JSON-LD
    """

    title: str = ""
    keywords: str = ""
    description: str = ""
    language: str = ""
    site_name: str = ""
    canonical: str | None = None
    base: str | None = None
    refresh_url: str | None = None
    robots: RobotsTag = NO_RULES
    links: list[RawLink] = field(default_factory=list)
    omitted_links: int = 0
    omitted_routes: set[str] = field(default_factory=set)
    crumbs: list[Crumb] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    feed_urls: list[str] = field(default_factory=list)
    generator: str = ""
    article_count: int = 0
    paragraph_count: int = 0
    is_article: bool = False
    is_index_page: bool = False
    _tree: LexborHTMLParser | None = field(default=None, repr=False)
    _ancestries: AncestryReader = field(default_factory=AncestryReader, repr=False)
    _block_starts: list[LexborNode] = field(default_factory=list, repr=False)

    @property
    def body(self) -> LexborNode | None:
        """The body element, or None if there is none."""
        return self._tree.body if self._tree is not None else None

    def extract_blocks(self) -> list[Block]:
        """Return the visible text in blocks, in document order."""
        body = self.body
        if body is None:
            return []
        blocks, self._block_starts = read_blocks(body)
        return blocks

    def block_region(self, number: int) -> Region:
        """Return the region of the block at an index of the last `extract_blocks`."""
        return self._ancestries.ancestry(self._block_starts[number]).region


class ElementReader:
    """Fills a `ParsedPage` while walking its elements in document order."""

    def __init__(
        self, page: ParsedPage, *, max_links: int, context: bool, agent: str, routes: bool
    ) -> None:
        self.page = page
        self.reads_routes = routes
        self.agent = agent.lower()
        self.has_refresh = False
        self.max_links = max_links
        self.ancestries = page._ancestries
        self.context_reader = ContextReader() if context else None
        self.og_description = ""  # og:description
        self.filed_under: dict[str, None] = {}  # tags and sections from Open Graph
        self.trail_crumbs: list[Crumb] = []
        self.trail_parents: set[int] = set()  # parents of unnamed trails, by mem_id
        # By region the headings above the current position, [(level, text)], levels rising.
        # Body and header share one outline: the page's heading is often in its header.
        self.outlines: dict[Region, list[tuple[int, str]]] = {region: [] for region in _REGIONS}
        self.outlines[Region.HEADER] = self.outlines[Region.BODY]

    def read(self, root: LexborNode) -> None:
        """Walk the whole tree."""
        self.page.language = fold(root.attributes.get("lang"), MAX_LANGUAGE)
        get_handler = _HANDLERS.get
        for node in root.traverse():
            handler = get_handler(tag_id := node.tag_id)
            if handler is not None:
                handler(self, node)
            elif tag_id > _MAX_HTML_TAG:  # <b-nav-item href>: scripts make a link of it
                self._link(node)
        self.page.description = self.page.description or self.og_description
        if len(self.trail_crumbs) <= MAX_TRAIL_LINKS:
            self.page.crumbs[:0] = self.trail_crumbs
        if self.filed_under:
            keywords = ", ".join(filter(None, (self.page.keywords, *self.filed_under)))
            self.page.keywords = fold(keywords, MAX_META)

    def _title(self, node: LexborNode) -> None:
        above = node.parent
        if not self.page.title and (above is None or above.tag_id != SVG):
            self.page.title = fold(node.text(), MAX_TITLE)

    def _base(self, node: LexborNode) -> None:
        if self.page.base is None:
            self.page.base = node.attributes.get("href")

    def _relation(self, node: LexborNode) -> None:
        attributes = node.attributes
        rel = _split_words(attributes.get("rel"))
        href = (attributes.get("href") or "").strip(HTTP_SPACE)
        if self.page.canonical is None and "canonical" in rel:
            self.page.canonical = href or None
        kind = (attributes.get("type") or "").partition(";")[0].strip().lower()
        title = attributes.get("title") or ""
        is_feed = kind in _FEED_TYPES or (kind in _XML_TYPES and _FEED_TITLE.search(title))
        if (
            href
            and "alternate" in rel
            and is_feed
            and len(self.page.feed_urls) < MAX_FEEDS
            and not _COMMENT_FEED.search(f"{href} {title}")
        ):
            self.page.feed_urls.append(href)

    def _meta(self, node: LexborNode) -> None:
        page, attributes = self.page, node.attributes
        content = attributes.get("content") or ""
        name = (attributes.get("name") or attributes.get("property") or "").lower()
        if name in ("robots", self.agent):
            page.robots |= parse_rules(content, self.agent)
        match name:
            case "keywords":
                page.keywords = page.keywords or fold(content, MAX_META)
            case "article:section" | "article:tag" | "news_keywords":
                if name := content.strip():
                    self.filed_under.setdefault(name)
            case "description":
                page.description = page.description or fold(content, MAX_META)
            case "og:site_name" | "application-name" | "citation_journal_title" | "twitter:site":
                page.site_name = page.site_name or fold(content, MAX_SITE_NAME)
            case "generator":
                page.generator += fold(content, MAX_TITLE) + "\n"
            case "og:description":
                self.og_description = self.og_description or fold(content, MAX_META)
            case "og:type":
                page.is_article |= content.strip().lower() == "article"
            case "article:published_time":
                page.is_article = True
        if not self.has_refresh and (attributes.get("http-equiv") or "").lower() == "refresh":
            self._refresh(node, content)

    def _refresh(self, node: LexborNode, content: str) -> None:
        """Apply the first well-formed refresh; inside <noscript> it is only a link."""
        seconds, url = parse_refresh(content) or (-1, "")
        self.has_refresh = seconds >= 0
        above = node.parent
        if url and seconds <= MAX_REDIRECT_DELAY_S and (above is None or above.tag_id != NOSCRIPT):
            self.page.refresh_url = url
        elif self._accept_href(url):
            self._add_link(node, url, "")

    def _article(self, node: LexborNode) -> None:
        is_comment = "comment" in (node.attributes.get("class") or "")  # in themes of WordPress
        in_body = self.ancestries.ancestry(node).region == Region.BODY
        self.page.article_count += in_body and not is_comment

    def _paragraph(self, node: LexborNode) -> None:
        self.page.paragraph_count += 1

    def _script(self, node: LexborNode) -> None:
        """Read the schema.org types and the breadcrumb of a JSON-LD script."""
        text = node.first_child
        if text is None or "ld+json" not in (node.attributes.get("type") or ""):
            return
        objects = list(parse_json_ld(text.text_content or ""))
        for publisher in (json_object.get("publisher") for json_object in objects):
            if isinstance(publisher, dict) and not self.page.site_name:
                self.page.site_name = fold(str(publisher.get("name") or ""), MAX_SITE_NAME)
        types = {name for json_object in objects for name in schema_types(json_object)}
        for json_object in objects:
            if len(self.page.crumbs) < MAX_TRAIL_LINKS:
                self.page.crumbs.extend(parse_crumbs(json_object))
        self.page.is_index_page |= not types.isdisjoint(_INDEX_PAGE_TYPES)
        self.page.is_article |= not types.isdisjoint(_ARTICLE_TYPES)

    def _heading(self, node: LexborNode) -> None:
        level, text = HEADING_LEVELS[node.tag_id], node_text(node)
        outline = self.outlines[self.ancestries.ancestry(node).region]
        while outline and outline[-1][0] >= level:
            outline.pop()
        outline.append((level, text))
        if level <= 3 and text and len(self.page.headings) < MAX_HEADINGS:
            self.page.headings.append(text)

    def _link(self, node: LexborNode) -> None:
        attributes = node.attributes
        href = attributes.get("href")
        if href and self._accept_href(href := href.strip(HTTP_SPACE)):
            anchor = node_text(node) or _fallback_anchor(node, attributes)
            self._add_link(node, href, anchor, attributes.get("rel"))
            is_start = is_trail_start(node, anchor)
            if is_start or self.trail_parents:
                self._follow_trail(node, href, anchor, is_start=is_start)

    def _template(self, node: LexborNode) -> None:
        """Add the links of a template, which scripts may show; its text stays hidden."""
        source = _TEMPLATE_TAG.sub(r"\1div", node.html or "").encode("utf-8", "replace")
        for link in LexborHTMLParser(limit_markup(source)).css("[href]:not(link):not(base)"):
            href = (link.attributes.get("href") or "").strip(HTTP_SPACE)
            if not _PLACEHOLDER.search(href) and self._accept_href(href):
                self._add_link(node, href, node_text(link), link.attributes.get("rel"))

    def _frame(self, node: LexborNode) -> None:
        src = (node.attributes.get("src") or "").strip(HTTP_SPACE)
        if self._accept_href(src):
            self._add_link(node, src, "")

    def _accept_href(self, href: str) -> bool:
        """Return whether to store a link; count it if there are too many."""
        if not href:
            return False
        if href.startswith(_NON_PAGE_PREFIXES):
            if not href.startswith(_ROUTE_PREFIXES) or len(href.lstrip("#!")) < 2:
                return False
            if not self.reads_routes:
                if len(self.page.omitted_routes) < self.max_links:
                    self.page.omitted_routes.add(href)
                return False
        if len(self.page.links) < self.max_links:
            return True
        self.page.omitted_links += 1
        return False

    def _add_link(self, node: LexborNode, href: str, anchor: str, rel: str | None = None) -> None:
        ancestry = self.ancestries.ancestry(node)
        region, level, _, is_crumb = ancestry
        outline = self.outlines[region]
        if level:
            heading = next((text for above, text in reversed(outline) if above < level), "")
        else:
            heading = outline[-1][1] if outline else ""
        context = (
            self.context_reader.link_context(node, anchor)
            if self.context_reader is not None
            else ""
        )
        nofollow = is_pagination = is_tag = False
        if rel:
            nofollow, is_pagination, is_tag = _parse_rel(rel)
        is_tag = is_tag or anchor in self.filed_under
        link = RawLink(href, anchor, heading, region, nofollow, context, is_pagination, is_tag)
        self.page.links.append(link)
        if is_crumb:
            self.trail_crumbs.append(Crumb(href, anchor))

    def _follow_trail(self, node: LexborNode, href: str, anchor: str, *, is_start: bool) -> None:
        """Add a link of an unnamed trail, and the links beside it."""
        above = node.parent
        if above is None or self.ancestries.ancestry(node).is_in_trail:
            return
        if is_start:
            self.trail_parents.add(above.mem_id)
        if above.mem_id in self.trail_parents:
            self.trail_crumbs.append(Crumb(href, anchor))


_HANDLER_BY_TAG = (
    tag_ids("title base meta")
    | dict.fromkeys(tag_ids("link"), "relation")
    | dict.fromkeys(tag_ids("a area"), "link")
    | dict.fromkeys(tag_ids("frame iframe"), "frame")
    | dict.fromkeys(tag_ids("p"), "paragraph")
    | tag_ids("article script template")
    | dict.fromkeys(HEADING_LEVELS, "heading")
)
_MAX_HTML_TAG = 0xFFFF  # elements that HTML does not define have greater numbers
_HANDLERS: dict[int, Callable[[ElementReader, LexborNode], None]] = {
    tag: getattr(ElementReader, f"_{name}") for tag, name in _HANDLER_BY_TAG.items()
}


def _parse_rel(rel: str) -> tuple[bool, bool, bool]:
    """Return whether rel means nofollow, pagination and tag."""
    rels = _split_words(rel)
    return bool(rels & _NOFOLLOW_RELS), bool(rels & _PAGINATION_RELS), bool(rels & _TAG_RELS)


def _split_words(text: str | None) -> set[str]:
    return set(text.lower().split()) if text else set()


def _fallback_anchor(node: LexborNode, attributes: Attributes) -> str:
    """Return a text for a link without one: alt of an image, title or aria-label."""
    for child in islice(node.traverse(), MAX_NODES):
        if child.tag_id == IMG and (alt := fold(child.attributes.get("alt"), MAX_ANCHOR)):
            return alt
    names = (fold(attributes.get(name), MAX_ANCHOR) for name in ("alt", "title", "aria-label"))
    return next(filter(None, names), "")
