"""Finds the publication date and the modification date that a page states.

Sources in this order; the first plausible date counts:

    JSON-LD         datePublished of the page's article (`json_ld.own_nodes`)
    meta            article:published_time, pubdate, publishdate, weibo:article:create_at, …
    JSON-LD         datePublished of the page's WebPage or video
    itemprop        datePublished on any element (schema.org microdata)
    <time>          the one marked pubdate, else the first after the heading, else the last before
    scripts         "datePublished", "publishedDate" and similar keys
    text            `2026年11月21日 08:30` around the heading, alone in its block, with a time of
                    day, a byline or a label: `发布于 2026-11-21`, `Posted on 21 November 2026`
    names           an element named as a date: <div class="post-date">21.11.26
    URL             /2026/11/21/, /2026-11-21/, /20261121/, t20261121_123.html
    text            a label before a date anywhere in the text

Dates in comments, sidebars, related links and other parts of the page are not its own. A date
without a time zone is in the given zone; a day without a time of day is its first minute in the
zone of the reader. Dates before 1995 and later than a day after the fetch are errors of the page.
Modification dates are read only from metadata: JSON-LD, meta, itemprop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cached_property
from itertools import chain, islice
from operator import itemgetter
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from focus.html.blocks import Block
from focus.html.date_text import DAY_FORMS, STATED_UTC, fold_date_signs, match_date, parse_date
from focus.html.dom import node_text
from focus.html.json_ld import JsonObject, own_nodes, parse_json_ld
from focus.html.main_content import read_blocks
from focus.html.page_parts import FOREIGN, element_role
from focus.html.parser import parse_tree

EARLIEST = datetime(1995, 1, 1, tzinfo=UTC).timestamp()
MAX_AHEAD_S = 86400.0  # it may be tomorrow already in the time zone of the page
_MAX_TRIES = 20  # candidates of each kind
_MAX_ANCESTORS = 12
_MAX_LINE_CHARS = 200  # of a block with a date that is not part of a sentence
_NEAR, _MAX_AFTER, _MAX_BEFORE = 4, 25, 8  # blocks after and before the heading
_MAX_SCRIPTS = 20

_PUBLISHED_KEYS = ("datePublished", "datePosted", "publishedDate", "dateCreated", "uploadDate")
_PUBLISHED_METAS = (
    "article:published_time", "og:article:published_time", "og:published_time", "datepublished",
    "bytedance:published_time", "apub:time", "weibo:article:create_at", "og:pubdate", "pubdate",
    "publishdate", "publish-date", "publish_date", "publish_time", "publishtime", "_pubtime",
    "published_time", "parsely-pub-date", "sailthru.date", "article.published", "og:release_date",
    "article:published", "published", "publication_date", "citation_publication_date",
    "citation_online_date", "citation_date", "dc.date.issued", "dcterms.issued", "dc.date.created",
    "dcterms.created", "dcterms.date", "dc.date", "date", "dc.date.published", "cxenseparse:recs:"
    "publishtime", "article:post_date", "datecreated", "created", "pdate", "ptime",
)  # fmt: skip
"""Names of meta elements, the most trusted first."""

_MODIFIED_METAS = (
    "article:modified_time", "og:article:modified_time", "og:updated_time", "og:modified_time",
    "datemodified", "bytedance:updated_time", "weibo:article:update_at", "lastmod",
    "last-modified", "dcterms.modified", "dc.date.modified", "modified", "revised",
)  # fmt: skip
"""Names of meta elements with the modification date, the most trusted first."""

_SCRIPT_DATE = re.compile(
    r'"(?-i:[dDfFpP])(?:ate(?:_?published|posted)|irst_?published(?:_?at)?|ub(?:_?date'
    r'|lish(?:ed)?_?(?:date|time|at)))\\?"\s*:\s*\\?"?([\dT:.+Z /-]{8,40})',
    re.I,
)
"""A key such as datePublished and its value. The set in front of the branches, without regard to
`re.I`, halves the time: most strings in a script begin otherwise."""
_HAS_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)|\d[./]\d\d?[./]\d\d")
_LABEL = re.compile(
    r"(?:[发發](?:布|表)|时间|時間|日期|刊登|更新|published|posted|date|created|written|added"
    r"|veröffentlicht|erstellt|eingestellt|geschrieben|datum|stand|vom|publiée?"
    r"|mise? en ligne"
    r"|créé|publicad[oa]|fecha|pubblicato|data|geplaatst|gepubliceerd|opublikowano|dodano"
    r"|опубликовано|дата|yayın\w*|tarih\w*|등록|입력|公開|投稿)(?:于|時間|时间|日期|日)?"
    r"(?: (?:on|am|at|le|el|il|op|em|den|del|in|date))?\W{0,12}$"
)
_MODIFIED_LABEL = re.compile(
    r"(?:revision|updated|modified|edited|geändert|änderung|aktualisiert|bearbeitet|mise? à jour"
    r"|modifié\w*|actualizad[oa]|aggiornato|修改|编辑|編輯)(?: (?:on|am|le|el|il|at))?\W{0,12}$"
)
_MODIFIED_NAME = re.compile("^(?!.*publish).*(?:updated|modified)", re.I)
_OTHER_LABEL = re.compile(
    r"(?:regist\w+|joined|member since|mitglied seit|beigetreten|inscri\w+|注册|注冊|geboren"
    r"|born|生于|last visit\w*)\W{0,12}$"
)
_SEPARATED = re.compile(r"(?:^|[,|•·/–—-] ?)\n|\n ?(?:$|[,|•·/–—])")
"""A separator, or nothing, on one side of a date, which is at the line break."""
_HAN = re.compile("[一-鿿]")
_BYLINE = re.compile(
    r"[电電讯訊]|\W{0,4}(?:来源|來源|作者|责任?编辑|責任?編輯|编辑|編輯|记者|source\b|by\b|author\b|von\b|par\b)"
)
_DATE_SELECTOR, _OTHER_SELECTOR = (
    ",".join(f'[{key}*="{name}" i]' for key in ("class", "id") for name in names.split())
    for names in ("date datum fecha publish posted", "time byline meta info")
)
_PATH_DATES = (
    re.compile(r"/((?:19|20)\d\d)[-_/.]?(\d\d)[-_/]?(\d\d)(?=[-_/.]|$)"),
    re.compile(r"(?<!\d)((?:19|20)\d\d)[-_](\d\d)[-_](\d\d)(?!\d)"),
    re.compile(r"(?<![\da-z])[a-z]{0,2}((?:19|20)\d\d)(\d\d)(\d\d)(?=[_-])"),
)


class MetadataSources:
    """The parts of a page that state dates and authors; `objects` are those of its JSON-LD."""

    def __init__(self, html: str, url: str) -> None:
        self.url = url
        self.tree = parse_tree(html)
        self.metas = read_metas(self.tree)
        self.scripts = self.tree.css("script")
        self.objects = _read_json_ld(self.scripts)
        self.own_nodes, self.page_nodes = own_nodes(self.objects, url)

    @cached_property
    def times(self) -> list[LexborNode]:
        """Headings and elements with a date for machines."""
        return self.tree.css('h1,time,[datetime],abbr[title],span[title*="20"],[pubdate]')[:60]

    @cached_property
    def blocks(self) -> list[Block]:
        """All blocks of visible text."""
        body = self.tree.body
        return read_blocks(body)[0] if body is not None else []


def _read_json_ld(scripts: Iterable[LexborNode]) -> list[JsonObject]:
    """Return the objects of a page's JSON-LD, outermost first."""
    named = (node for node in scripts if "ld+json" in (node.attributes.get("type") or "").lower())
    texts = (node.text() or "" for node in islice(named, _MAX_SCRIPTS))
    return [thing for text in texts for thing in parse_json_ld(text)]


def read_metas(tree: LexborHTMLParser) -> dict[str, str]:
    """Return the contents of meta elements by name in lower case, the first of each name."""
    contents: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        attributes = node.attributes
        name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop")
        if name and (content := (attributes.get("content") or "").strip()):
            contents.setdefault(name.lower(), content)
    return contents


def read_publication_time(
    html: str, url: str, *, fetched_at: float, zone: tzinfo, day_zone: tzinfo | None = None
) -> float | None:
    """Return when a page was published in Unix seconds, like `find_publication`."""
    date = find_publication(
        MetadataSources(html, url), fetched_at=fetched_at, zone=zone, day_zone=day_zone
    )
    return None if date is None else date.timestamp()


def find_publication(
    sources: MetadataSources, *, fetched_at: float, zone: tzinfo, day_zone: tzinfo | None = None
) -> datetime | None:
    """Return when a page was published, in the zone that it states; None if it does not say.

    zone      of dates without a time zone
    day_zone  of dates without a time of day; they begin at midnight in it, so that the day is the
              same for the reader. None means `zone`
    """
    finder = _DateFinder(sources, zone, zone if day_zone is None else day_zone)
    date = _first_plausible(finder.publications(), fetched_at)
    return finder.localise(date) if date is not None and date.tzinfo is STATED_UTC else date


def find_modification(
    sources: MetadataSources, *, fetched_at: float, zone: tzinfo
) -> datetime | None:
    """Return when a page was last changed, like `find_publication`."""
    texts = chain(
        _node_dates(sources.own_nodes, ("dateModified",)),
        (sources.metas[name] for name in _MODIFIED_METAS if name in sources.metas),
        _node_dates(sources.page_nodes, ("dateModified",)),
        _microdata_dates(sources.tree, "dateModified"),
    )
    return _first_plausible((parse_date(text, zone) for text in texts), fetched_at)


def _first_plausible(dates: Iterable[datetime | None], fetched_at: float) -> datetime | None:
    latest = fetched_at + MAX_AHEAD_S
    return next((d for d in dates if d is not None and EARLIEST <= d.timestamp() <= latest), None)


class _DateFinder:
    """Yields the publication dates of a page, the most trusted first."""

    def __init__(self, sources: MetadataSources, zone: tzinfo, day_zone: tzinfo) -> None:
        self._sources, self._zone, self._day_zone = sources, zone, day_zone
        root = sources.tree.root
        self._language = ((root and root.attributes.get("lang")) or "").lower()

    @cached_property
    def _blocks(self) -> list[Block]:
        return [block for block in self._sources.blocks if not block.parts & FOREIGN]

    def publications(self) -> Iterator[datetime | None]:
        sources = self._sources
        yield from map(self._parse, _node_dates(sources.own_nodes, _PUBLISHED_KEYS))
        metas = sources.metas
        yield from (self._parse(metas[name]) for name in _PUBLISHED_METAS if name in metas)
        yield from map(self._parse, _node_dates(sources.page_nodes, _PUBLISHED_KEYS))
        yield from map(self._parse, _microdata_dates(sources.tree, "datePublished"))
        blocks = self._blocks
        yield from self._block_dates(blocks, after=_NEAR, before=0)
        yield from map(self._parse, _time_element_dates(sources))
        yield from map(self._parse, _script_dates(sources))
        yield from self._named_dates(_DATE_SELECTOR)
        yield from self._block_dates(blocks, after=_MAX_AFTER, before=_MAX_BEFORE)
        yield from self._named_dates(_OTHER_SELECTOR)
        yield date_from_url(sources.url, self._day_zone)
        yield from self._labelled_dates(blocks)
        yield from map(self._parse, _microdata_dates(sources.tree, "datePublished", foreign=True))
        yield from map(self._parse, _updated_dates(sources.tree))
        yield from self._block_dates(self._sources.blocks, after=10**6, before=10**6)
        yield from self._labelled_dates(self._sources.blocks, _MODIFIED_LABEL)

    def localise(self, date: datetime) -> datetime:
        """Return a date in UTC in the zone of the page, as its other dates show it.

        Example: 2023-11-09T00:49Z on the page /2023/11/08/a.html is 2023-11-08T23:49-01:00, with
        the smallest offset that gives the day of the page.
        """
        sources = self._sources
        texts = [sources.metas[name] for name in _PUBLISHED_METAS if name in sources.metas]
        texts += _time_element_dates(sources, shown=True)
        texts += _script_dates(sources)
        others = [*map(self._parse, dict.fromkeys(texts))]
        others.append(date_from_url(sources.url, self._day_zone))
        if not any(others):
            others = [*self._block_dates(self._blocks, after=_NEAR, before=0)]
        zones = [_zone_by_other(date, other_date) for other_date in others if other_date]
        return date.astimezone(min(zones, key=itemgetter(0))[1]) if zones else date

    def _parse(self, text: str, *, short: bool = False) -> datetime | None:
        return parse_date(text, self._zone, self._day_zone, language=self._language, short=short)

    def _block_dates(
        self, blocks: list[Block], *, after: int, before: int
    ) -> Iterator[datetime | None]:
        """Yield dates around the heading with a time of day, a label or nothing beside them."""
        start = self._heading_number(blocks)
        numbers_after = range(start, min(len(blocks), start + after))
        numbers_before = range(start - 1, max(-1, start - 1 - before), -1)
        for number in (*numbers_after, *numbers_before):
            text = blocks[number].text
            if len(text) > _MAX_LINE_CHARS or not _HAS_YEAR.search(text := fold_date_signs(text)):
                continue
            previous = blocks[number - 1].text[-20:].lower() + " " if number else ""
            yield from self._beside(previous, text, is_heading=number == start)

    def _beside(self, previous: str, text: str, *, is_heading: bool) -> Iterator[datetime | None]:
        """Yield the dates in a block that are not part of a sentence."""
        for match in _find_days(text):
            before = (previous + text[: match.start()])[-40:]
            after = text[match.end() :]
            rest = text[: match.start()] + after
            is_alone = len(rest) <= 12 and len(_HAN.findall(rest)) < 3
            if not _OTHER_LABEL.search(before) and (
                is_alone
                or (len(text) <= 80 and _SEPARATED.search(f"{before}\n{after}"))
                or (is_heading and len(after) < 60)
                or match["H"]
                or _LABEL.search(before)
                or _BYLINE.match(after)
            ):
                yield match_date(match, self._zone, self._day_zone, self._language)

    def _heading_number(self, blocks: list[Block]) -> int:
        """Return the number of the block with the page's heading: its h1, else its title."""
        node = self._sources.tree.css_first("title")
        title = node_text(node) if node is not None else ""
        headings = [number for number, block in enumerate(blocks) if block.tag == "h1"]
        named = [number for number in headings if blocks[number].text[:12] in title]
        alike = (
            number
            for number, block in enumerate(blocks)
            if len(block.text) > 1 and title.startswith(block.text[:30])
        )
        return next(chain(named, headings, alike), 0)

    def _named_dates(self, selector: str) -> Iterator[datetime | None]:
        """Yield dates in elements with the name of a date."""
        for node in islice(self._sources.tree.css(selector), 60):
            text = node_text(node, _MAX_LINE_CHARS + 1)
            if not _HAS_YEAR.search(text):
                text = node.attributes.get("title") or ""
            if (
                6 <= len(text) <= _MAX_LINE_CHARS
                and _HAS_YEAR.search(text)
                and not is_foreign(node)
            ):
                yield self._parse(text, short=True)

    def _labelled_dates(
        self, blocks: list[Block], label: re.Pattern[str] = _LABEL
    ) -> Iterator[datetime | None]:
        """Yield dates after a label or with a time of day, anywhere in the text."""
        previous = ""
        for block in blocks:
            text = fold_date_signs(block.text)
            for match in _find_days(text) if _HAS_YEAR.search(text) else ():
                before = f"{previous[-20:]} {text[max(0, match.start() - 40) : match.start()]}"
                if label.search(before) or match["H"]:
                    yield match_date(match, self._zone, self._day_zone, self._language)
            previous = text


def _find_days(text: str) -> Iterator[re.Match[str]]:
    """Yield the days in a text in lower case, form by form."""
    for form in DAY_FORMS:
        yield from islice(form.finditer(text), _MAX_TRIES)


def _zone_by_other(date: datetime, other_date: datetime) -> tuple[int, tzinfo]:
    """Return the zone in which a date in UTC agrees with another one of the page.

    The first number is 0 if the other has a zone, 1 if it has the time of day there, 2 if it has
    only the day, and 3 if it gives no other zone than UTC.
    """
    if other_date.tzinfo is not STATED_UTC:
        if other_date == date and other_date.utcoffset():
            return 0, other_date.tzinfo or UTC
        quarters = (other_date.replace(tzinfo=UTC) - date) / timedelta(minutes=15)
        offset = timedelta(minutes=15 * round(quarters))
        if (other_date.hour, other_date.minute) != (0, 0):
            if 0 < abs(round(quarters)) <= 56 and abs(quarters - round(quarters)) < 0.1:
                return 1, timezone(offset)
        else:
            days = (other_date.date() - date.date()).days
            if days == -1 and date.hour <= 11:
                return 2, timezone(timedelta(hours=-date.hour - 1))
            if days == 1 and date.hour >= 10:
                return 2, timezone(timedelta(hours=24 - date.hour))
    return 3, UTC


def date_from_url(url: str, zone: tzinfo) -> datetime | None:
    """Return the first minute of the day that a URL contains; None if it contains none."""
    path = urlsplit(url).path.lower() if url.isprintable() and "[" not in url else ""
    for pattern in _PATH_DATES:
        if match := pattern.search(path):
            year, month, day = map(int, match.groups())
            try:
                return datetime(year, month, day, tzinfo=zone)
            except ValueError:
                continue
    return None


def _node_dates(nodes: Iterable[JsonObject], keys: Iterable[str]) -> Iterator[str]:
    """Yield the dates of JSON-LD nodes."""
    values = (node.get(key) for node in nodes for key in keys)
    yield from (value for value in values if isinstance(value, str))


def _updated_dates(tree: LexborHTMLParser) -> Iterator[str]:
    """Yield the dates of the microformat hAtom, which often has no other date than `updated`."""
    for node in islice(tree.css(".updated"), _MAX_TRIES):
        if not is_foreign(node):
            attributes = node.attributes
            yield attributes.get("datetime") or attributes.get("title") or node_text(node)


def _microdata_dates(tree: LexborHTMLParser, key: str, *, foreign: bool = False) -> Iterator[str]:
    """Yield content, datetime or text of the elements with a property of schema.org."""
    for node in islice(tree.css(f'[itemprop~="{key}" i]'), _MAX_TRIES):
        if foreign or not is_foreign(node):
            attributes = node.attributes
            yield attributes.get("content") or attributes.get("datetime") or node_text(node)


def _time_element_dates(sources: MetadataSources, *, shown: bool = False) -> Iterator[str]:
    """Yield the dates of `<time>` and `<abbr>`: pubdate, after the heading, before it backwards.

    shown  whether to yield their texts instead of their attributes
    """
    marked: list[str] = []
    before: list[str] = []
    after: list[str] = []
    section = before
    for node in sources.times:
        attributes = node.attributes
        if node.tag == "h1":
            section = after
        elif _MODIFIED_NAME.search(f"{attributes.get('class')} {attributes.get('itemprop')}"):
            continue
        elif not is_foreign(node):
            text = attributes.get("datetime") or attributes.get("title")
            if shown or not text:
                text = node_text(node)
            (marked if "pubdate" in attributes else section).append(text)
    yield from (*marked, *after, *reversed(before))


def _script_dates(sources: MetadataSources) -> Iterator[str]:
    """Yield the dates in scripts that use keys of JSON-LD."""
    for script in sources.scripts:
        if (node := script.first_child) is not None and "src" not in script.attributes:
            matches = _SCRIPT_DATE.finditer(node.text_content or "")
            yield from (match[1] for match in islice(matches, _MAX_TRIES))


def is_foreign(node: LexborNode) -> bool:
    """Return whether an element is in a comment, a sidebar, related links or the like."""
    above: LexborNode | None = node
    for _ in range(_MAX_ANCESTORS):
        if above is None:
            break
        attributes = above.attributes
        role = element_role(above.tag_id, attributes)
        is_foreign = role.part & FOREIGN or "Comment" in (attributes.get("itemtype") or "")
        if is_foreign and above.css_first("h1,main") is None:
            return True
        above = above.parent
    return False
