"""Finds when a page says that it was published, and when it was changed last.

Asked for in this order, the first plausible answer counts:

    JSON-LD         "datePublished": "2026-11-21T08:30:00+08:00"
    meta            article:published_time, pubdate, publishdate, weibo:article:create_at, …
    itemprop        datePublished on any element (schema.org microdata)
    <time>          the one marked pubdate, else the first one after the heading; its text, where
                    it has no datetime
    text            `2026年11月21日 08:30` under the heading, with a time of day or a label:
                    `发布于 2026-11-21`, `2026-11-21 来源：新华社`
    alone           an element under the heading whose text or title is a date: <span>2026-11-21
    the address     /2026/11/21/, /2026-11-21/, /20261121/, t20261121_123.html

A date without a zone is of the zone given, a day without a time the first minute of that day
where it is read. Dates before 1995 and later than a day after the page was fetched are mistakes
of the page. Of changes only what is marked as one for machines counts: JSON-LD, meta, itemprop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from html import unescape
from itertools import chain, islice
from urllib.parse import urlsplit

EARLIEST = datetime(1995, 1, 1, tzinfo=UTC).timestamp()
AHEAD_S = 86400.0  # a page may be "of tomorrow" where it is tomorrow already
MAX_CHARS = 300_000  # of a page: dates stand in its first part
_TAG, _WINDOW, _SHOWN = 2_000, 8_000, 3_000  # characters of a tag, of source and text looked at
_TRIES = 20  # of each kind

_METAS = (
    "article:published_time", "og:article:published_time", "og:published_time", "datepublished",
    "bytedance:published_time", "apub:time", "weibo:article:create_at", "og:pubdate", "pubdate",
    "publishdate", "publish-date", "publish_date", "publish_time", "publishtime", "_pubtime",
    "published_time", "parsely-pub-date", "sailthru.date", "article.published", "og:release_date",
    "citation_publication_date", "citation_online_date", "dc.date.issued", "dcterms.issued",
    "dc.date.created", "dcterms.created", "dcterms.date", "dc.date", "date",
)  # fmt: skip
"""Names of meta elements, the most trusted first."""

_CHANGED = (
    "article:modified_time", "og:article:modified_time", "og:updated_time", "og:modified_time",
    "datemodified", "bytedance:updated_time", "weibo:article:update_at", "lastmod",
    "last-modified", "dcterms.modified", "dc.date.modified", "modified", "revised",
)  # fmt: skip
"""The same of the last change."""

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_CLOCK = (
    r"(?:[t ,，|]{0,4}(?P<noon>上午|下午|晚上|凌晨)? ?(?P<H>\d{1,2}) ?[:：时点] ?(?P<M>\d{2})(?!\d)"
    r"(?: ?[:：分] ?(?P<S>\d{2})(?!\d)秒?)?(?:[.,]\d{1,9})?分? ?(?P<half>[ap])?\.?(?(half)m)"
    r" ?(?P<zone>z(?![a-z])|utc|gmt|[+-]\d{2}:?\d{2}(?!\d))?)?"
)
_YEAR = r"(?<![\d.])(?P<y>(?:19|20)\d\d)"
_NUMERIC = re.compile(
    rf"{_YEAR} ?(?:年 ?(?P<m1>\d{{1,2}}) ?月 ?(?P<d1>\d{{1,2}})(?!\d) ?日?"
    rf"|(?P<sign>[-/.])(?P<m2>\d{{1,2}})(?P=sign)(?P<d2>\d{{1,2}})(?!\d)){_CLOCK}"
)
_COMPACT = re.compile(
    r"(?<!\d)(?P<y>(?:19|20)\d\d)(?P<m>\d\d)(?P<d>\d\d)"
    r"(?:t?(?P<H>\d\d)(?P<M>\d\d)(?P<S>\d\d)?)?(?P<zone>z|[+-]\d{2}:?\d{2})?(?!\d)"
)
_DAY_FIRST = re.compile(
    rf"(?<!\d)(?P<d>\d{{1,2}})(?:st|nd|rd|th)? {_MONTH},? (?P<y>(?:19|20)\d\d)(?!\d){_CLOCK}"
)
_MONTH_FIRST = re.compile(
    rf"(?<![a-z]){_MONTH} (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>(?:19|20)\d\d)(?!\d){_CLOCK}"
)
_EPOCH = re.compile(r"\s*(\d{10})(\d{3})?\s*")
_WRITTEN = (_NUMERIC, _DAY_FIRST, _MONTH_FIRST)
_FORMS = (*_WRITTEN, _COMPACT)

_NAME = re.compile(r"""\b(?:property|name|itemprop)\s*=\s*["']?([^"'\s>]{1,60})""")
_CONTENT = re.compile(r"""\b(?:content|datetime)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""")
_LINKED = {
    key: re.compile(rf'"{key}"\s*:\s*"([^"]{{4,60}})"') for key in ("datepublished", "datemodified")
}
_TITLE_END = re.compile(r"[<_|–—]| - ")  # after it the site's name
_TAGS = re.compile(r"<[^<>]*>")
_LABEL = re.compile(r"(?:[发發](?:布|表)于?|时间|時間|日期|刊登|published|posted|date)\W{0,6}$")
_ALONE = re.compile(r"""(?:>\s*|\btitle=["'])((?=[^<>"']*\d{4})[^<>"']{6,40}?)\s*(?:<|["'])""")
_BYLINE = re.compile(
    r"\W{0,4}(?:来源|來源|作者|责任?编辑|責任?編輯|编辑|編輯|记者|source\b|by\b|author\b)"
)
_IN_PATH = (
    re.compile(r"/((?:19|20)\d\d)[-_/.]?(\d\d)[-_/]?(\d\d)(?=[-_/.]|$)"),
    re.compile(r"(?<!\d)((?:19|20)\d\d)[-_](\d\d)[-_](\d\d)(?!\d)"),
    re.compile(r"(?<![\da-z])[a-z]{0,2}((?:19|20)\d\d)(\d\d)(\d\d)(?=[_-])"),
)


def published_at(
    html: str, url: str, *, fetched_at: float, zone: tzinfo, days: tzinfo | None = None
) -> float | None:
    """When a page was published, Unix seconds; None: it does not say.

    html  the page as decoded
    zone  of dates that name none
    days  of those that name no time of day either, by whose clock they begin at midnight: a day
          is to be the same day for who reads of it. None: `zone`
    """
    low = html[:MAX_CHARS].lower()
    marked = _marked(low, "datepublished", _METAS)
    said = chain(marked, _times(low), _visible(low), _alone(low))
    days = zone if days is None else days
    moments = chain((instant(text, zone, days) for text in said), (of_url(url, days),))
    return _first_plausible(moments, fetched_at)


def modified_at(html: str, *, fetched_at: float, zone: tzinfo) -> float | None:
    """When a page was changed last, as `published_at`; None: it does not say."""
    marked = _marked(html[:MAX_CHARS].lower(), "datemodified", _CHANGED)
    return _first_plausible((instant(text, zone) for text in marked), fetched_at)


def _first_plausible(moments: Iterable[float | None], fetched_at: float) -> float | None:
    latest = fetched_at + AHEAD_S
    return next((m for m in moments if m is not None and EARLIEST <= m <= latest), None)


def instant(text: str, zone: tzinfo, days: tzinfo | None = None) -> float | None:
    """The first date in a text as Unix seconds; None if there is none. Zones: see `published_at`.

    Worked: `Sat, 21 Nov 2026 08:30:00 GMT`, `2026年11月21日 16:30` in Shanghai and
    `1795249800` are the same instant.
    """
    text = text.lower().replace("\\u002b", "+").replace("\xa0", " ")
    if epoch := _EPOCH.fullmatch(text):
        return float(epoch[1])
    found = [match for form in _FORMS if (match := form.search(text))]
    if not found:
        return None
    return _moment(min(found, key=re.Match.start), zone, zone if days is None else days)


def of_url(url: str, zone: tzinfo) -> float | None:
    """The first minute of the day that an address names; None if it names none."""
    path = urlsplit(url).path.lower() if url.isprintable() and "[" not in url else ""
    for pattern in _IN_PATH:
        if match := pattern.search(path):
            year, month, day = map(int, match.groups())
            if (found := _of(year, month, day, zone)) is not None:
                return found
    return None


def _moment(match: re.Match[str], zone: tzinfo, days: tzinfo) -> float | None:
    said = match.groupdict()
    month = said.get("m") or said.get("m1") or said.get("m2")
    number = int(month) if month else _MONTHS.index(said["month"]) + 1
    day = said.get("d") or said.get("d1") or said.get("d2")
    hour, minute, second = (int(said.get(name) or 0) for name in "HMS")
    if hour < 12 and (said.get("half") == "p" or said.get("noon") in ("下午", "晚上")):
        hour += 12
    elif hour == 12 and (said.get("half") == "a" or said.get("noon") == "凌晨"):
        hour = 0
    offset = said.get("zone")
    meant = _zone(offset) if offset else zone if said.get("H") else days
    clock = (hour, minute, min(second, 59))  # a leap second
    return _of(int(said["y"]), number, int(day or 0), meant, clock)


def _of(
    year: int, month: int, day: int, zone: tzinfo, clock: tuple[int, int, int] = (0, 0, 0)
) -> float | None:
    try:
        return datetime(year, month, day, *clock, tzinfo=zone).timestamp()
    except ValueError:
        return None


def _zone(text: str) -> tzinfo:
    """UTC, or a fixed offset; one that no place on earth has counts as UTC."""
    if text[0] not in "+-":
        return UTC
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    offset = timedelta(minutes=-minutes if text[0] == "-" else minutes)
    return timezone(offset) if minutes <= 14 * 60 else UTC


# -- where dates stand; all take a page in lower case -------------------------------


def _marked(page: str, key: str, metas: tuple[str, ...]) -> Iterator[str]:
    """What is marked for machines: by JSON-LD, meta elements, microdata."""
    return chain(_linked(page, key), _metas(page, metas), _items(page, key))


def _linked(page: str, key: str) -> Iterator[str]:
    """JSON-LD, and what other scripts hold in its words."""
    if f'"{key}"' in page:
        yield from (match[1] for match in islice(_LINKED[key].finditer(page), _TRIES))


def _metas(page: str, names: tuple[str, ...]) -> list[str]:
    """Contents of meta elements, the most trusted first."""
    found: dict[str, str] = {}
    for tag in _tags(page, "<meta", 200):
        if any(
            part in tag for part in ("date", "time", "create", "published", "modified", "revis")
        ):
            name, content = _NAME.search(tag), _CONTENT.search(tag)
            if name and content:
                found.setdefault(name[1], _value(content))
    return [found[name] for name in names if name in found]


def _items(page: str, key: str) -> Iterator[str]:
    """Microdata: in an attribute, else the element's text."""
    at = page.find(key)
    for _ in range(_TRIES):
        if at < 0:
            return
        start, end = page.rfind("<", max(0, at - _TAG), at), page.find(">", at, at + _TAG)
        if start >= 0 and end >= 0 and "itemprop" in page[start:at]:
            content = _CONTENT.search(page[start:end])
            yield _value(content) if content else page[end + 1 : end + 60].partition("<")[0]
        at = page.find(key, at + 1)


def _times(page: str) -> Iterable[str]:
    """What <time> says: the one marked as publication, else the first after the heading."""
    if "<time" not in page:
        return ()
    marked = (tag for tag in _tags(page, "<time", _TRIES) if "pubdate" in tag)
    said = [_value(found) for tag in marked if (found := _CONTENT.search(tag))]
    at = page.find("<time", max(0, page.find("<h1")))
    for tag in _tags(page[at:], "<time", 1) if at >= 0 else ():
        if "modified" in tag:
            continue
        found, end = _CONTENT.search(tag), at + len(tag)
        said.append(_value(found) if found else page[end + 1 : end + 60].partition("<")[0])
    return said


def _visible(page: str) -> Iterator[str]:
    """Dates in the text under the heading that have a time of day or a label beside them."""
    shown = _text(page[(start := _heading(page)) : start + _WINDOW])[:_SHOWN]
    for form in _WRITTEN:
        for match in islice(form.finditer(shown), _TRIES):
            before = _LABEL.search(shown, max(0, match.start() - 16), match.start())
            if match["H"] or before or _BYLINE.match(shown, match.end()):
                yield match[0]


def _alone(page: str) -> Iterator[str]:
    """Elements soon under the heading that hold a date and nothing else."""
    start = _heading(page)
    for match in islice(_ALONE.finditer(page, start, start + _SHOWN), _TRIES):
        text = match[1].strip()
        for form in _WRITTEN:
            if (date := form.match(text)) and (date["H"] or date.end() == len(text)):
                yield text


def _heading(page: str) -> int:
    """Where the text of the page itself begins: its h1, else its title's words in the body."""
    if (heading := page.find("<h1")) >= 0:
        return heading
    body = max(0, page.find("<body"))
    start = page.find("<title")
    title = page[page.find(">", start) + 1 :][:100] if start >= 0 else ""
    words = _TITLE_END.split(title, maxsplit=1)[0].strip()[:8]
    return max(body, page.find(words, body)) if words else body


def _text(source: str) -> str:
    """Source without tags, scripts and comments, white space folded."""
    for opening, closing in (("<!--", "-->"), ("<script", "</script"), ("<style", "</style")):
        head, *others = source.split(opening)
        source = head + " ".join(each.partition(closing)[2] for each in others)
    return " ".join(unescape(_TAGS.sub(" ", source)).split())


def _tags(page: str, opening: str, most: int) -> Iterator[str]:
    """The start tags of a name, so many at most."""
    at = page.find(opening)
    for _ in range(most):
        if at < 0:
            return
        end = page.find(">", at, at + _TAG)
        yield page[at : end if end >= 0 else at + _TAG]
        at = page.find(opening, at + len(opening))


def _value(match: re.Match[str]) -> str:
    return unescape(next(filter(None, match.groups()), ""))
