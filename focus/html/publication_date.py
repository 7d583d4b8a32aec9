"""Finds the publication date and the modification date that a page states.

Sources in this order; the first plausible date counts:

    JSON-LD         "datePublished": "2026-11-21T08:30:00+08:00"
    meta            article:published_time, pubdate, publishdate, weibo:article:create_at, …
    itemprop        datePublished on any element (schema.org microdata)
    <time>          the one marked pubdate, else the first one after the heading; its text if it
                    has no datetime attribute
    text            `2026年11月21日 08:30` under the heading, with a time of day or a label:
                    `发布于 2026-11-21`, `2026-11-21 来源：新华社`
    alone           an element under the heading whose text or title is a date: <span>2026-11-21
    URL             /2026/11/21/, /2026-11-21/, /20261121/, t20261121_123.html

A date without a time zone is in the given zone, a day without a time is its first minute in the
zone of the reader. Dates before 1995 and later than a day after the fetch are errors of the page.
Modification dates are read only from metadata: JSON-LD, meta, itemprop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from html import unescape
from itertools import chain, islice
from urllib.parse import urlsplit

EARLIEST = datetime(1995, 1, 1, tzinfo=UTC).timestamp()
MAX_AHEAD_S = 86400.0  # it may be tomorrow already in the time zone of the page
MAX_CHARS = 300_000  # of a page: dates are in its first part
_MAX_TAG, _MAX_SOURCE, _MAX_TEXT = (
    2_000,
    8_000,
    3_000,
)  # characters searched of a tag, the source, the text
_MAX_TRIES = 20  # candidates of each kind

_PUBLISHED_METAS = (
    "article:published_time", "og:article:published_time", "og:published_time", "datepublished",
    "bytedance:published_time", "apub:time", "weibo:article:create_at", "og:pubdate", "pubdate",
    "publishdate", "publish-date", "publish_date", "publish_time", "publishtime", "_pubtime",
    "published_time", "parsely-pub-date", "sailthru.date", "article.published", "og:release_date",
    "citation_publication_date", "citation_online_date", "dc.date.issued", "dcterms.issued",
    "dc.date.created", "dcterms.created", "dcterms.date", "dc.date", "date",
)  # fmt: skip
"""Names of meta elements, the most trusted first."""

_MODIFIED_METAS = (
    "article:modified_time", "og:article:modified_time", "og:updated_time", "og:modified_time",
    "datemodified", "bytedance:updated_time", "weibo:article:update_at", "lastmod",
    "last-modified", "dcterms.modified", "dc.date.modified", "modified", "revised",
)  # fmt: skip
"""Names of meta elements with the modification date, the most trusted first."""

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
_WRITTEN_FORMS = (_NUMERIC, _DAY_FIRST, _MONTH_FIRST)
_ALL_FORMS = (*_WRITTEN_FORMS, _COMPACT)

_NAME = re.compile(r"""\b(?:property|name|itemprop)\s*=\s*["']?([^"'\s>]{1,60})""")
_CONTENT = re.compile(r"""\b(?:content|datetime)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""")
_JSON_LD_DATE = {
    key: re.compile(rf'"{key}"\s*:\s*"([^"]{{4,60}})"') for key in ("datepublished", "datemodified")
}
_TITLE_END = re.compile(r"[<_|–—]| - ")  # followed by the site's name
_TAGS = re.compile(r"<[^<>]*>")
_LABEL = re.compile(r"(?:[发發](?:布|表)于?|时间|時間|日期|刊登|published|posted|date)\W{0,6}$")
_STANDALONE = re.compile(r"""(?:>\s*|\btitle=["'])((?=[^<>"']*\d{4})[^<>"']{6,40}?)\s*(?:<|["'])""")
_BYLINE = re.compile(
    r"\W{0,4}(?:来源|來源|作者|责任?编辑|責任?編輯|编辑|編輯|记者|source\b|by\b|author\b)"
)
_PATH_DATES = (
    re.compile(r"/((?:19|20)\d\d)[-_/.]?(\d\d)[-_/]?(\d\d)(?=[-_/.]|$)"),
    re.compile(r"(?<!\d)((?:19|20)\d\d)[-_](\d\d)[-_](\d\d)(?!\d)"),
    re.compile(r"(?<![\da-z])[a-z]{0,2}((?:19|20)\d\d)(\d\d)(\d\d)(?=[_-])"),
)


def read_publication_time(
    html: str, url: str, *, fetched_at: float, zone: tzinfo, day_zone: tzinfo | None = None
) -> float | None:
    """Return when a page was published in Unix seconds; None if it does not say.

    html      the page as decoded
    zone      of dates without a time zone
    day_zone  of dates without a time of day; they begin at midnight in it, so that the day is the
              same for the reader. None means `zone`
    """
    lower = html[:MAX_CHARS].lower()
    marked = _machine_dates(lower, "datepublished", _PUBLISHED_METAS)
    texts = chain(
        marked, _time_element_dates(lower), _labelled_dates(lower), _standalone_dates(lower)
    )
    day_zone = zone if day_zone is None else day_zone
    timestamps = chain(
        (parse_timestamp(text, zone, day_zone) for text in texts),
        (timestamp_from_url(url, day_zone),),
    )
    return _first_plausible(timestamps, fetched_at)


def read_modification_time(html: str, *, fetched_at: float, zone: tzinfo) -> float | None:
    """Return when a page was last changed, like `read_publication_time`."""
    marked = _machine_dates(html[:MAX_CHARS].lower(), "datemodified", _MODIFIED_METAS)
    return _first_plausible((parse_timestamp(text, zone) for text in marked), fetched_at)


def _first_plausible(timestamps: Iterable[float | None], fetched_at: float) -> float | None:
    latest = fetched_at + MAX_AHEAD_S
    return next((m for m in timestamps if m is not None and EARLIEST <= m <= latest), None)


def parse_timestamp(text: str, zone: tzinfo, day_zone: tzinfo | None = None) -> float | None:
    """Return the first date in a text as Unix seconds; None if there is none.

    `zone` and `day_zone` have the same meaning as in `read_publication_time`.

    Example: `Sat, 21 Nov 2026 08:30:00 GMT`, `2026年11月21日 16:30` in Shanghai and
    `1795249800` are the same time.
    """
    text = text.lower().replace("\\u002b", "+").replace("\xa0", " ")
    if epoch := _EPOCH.fullmatch(text):
        return float(epoch[1])
    matches = [match for form in _ALL_FORMS if (match := form.search(text))]
    if not matches:
        return None
    return _match_timestamp(
        min(matches, key=re.Match.start), zone, zone if day_zone is None else day_zone
    )


def timestamp_from_url(url: str, zone: tzinfo) -> float | None:
    """Return the first minute of the day that a URL contains; None if it contains none."""
    path = urlsplit(url).path.lower() if url.isprintable() and "[" not in url else ""
    for pattern in _PATH_DATES:
        if match := pattern.search(path):
            year, month, day = map(int, match.groups())
            if (timestamp := _timestamp(year, month, day, zone)) is not None:
                return timestamp
    return None


def _match_timestamp(match: re.Match[str], zone: tzinfo, day_zone: tzinfo) -> float | None:
    groups = match.groupdict()
    month = groups.get("m") or groups.get("m1") or groups.get("m2")
    number = int(month) if month else _MONTHS.index(groups["month"]) + 1
    day = groups.get("d") or groups.get("d1") or groups.get("d2")
    hour, minute, second = (int(groups.get(name) or 0) for name in "HMS")
    if hour < 12 and (groups.get("half") == "p" or groups.get("noon") in ("下午", "晚上")):
        hour += 12
    elif hour == 12 and (groups.get("half") == "a" or groups.get("noon") == "凌晨"):
        hour = 0
    offset = groups.get("zone")
    date_zone = _parse_zone(offset) if offset else zone if groups.get("H") else day_zone
    clock = (hour, minute, min(second, 59))  # 60 is a leap second
    return _timestamp(int(groups["y"]), number, int(day or 0), date_zone, clock)


def _timestamp(
    year: int, month: int, day: int, zone: tzinfo, clock: tuple[int, int, int] = (0, 0, 0)
) -> float | None:
    try:
        return datetime(year, month, day, *clock, tzinfo=zone).timestamp()
    except ValueError:
        return None


def _parse_zone(text: str) -> tzinfo:
    """Return UTC or a fixed offset; an offset of more than 14 hours counts as UTC."""
    if text[0] not in "+-":
        return UTC
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    offset = timedelta(minutes=-minutes if text[0] == "-" else minutes)
    return timezone(offset) if minutes <= 14 * 60 else UTC


# -- dates by source; all functions take a page in lower case ------------------------


def _machine_dates(page: str, key: str, metas: tuple[str, ...]) -> Iterator[str]:
    """Return the dates for machines: JSON-LD, meta elements, microdata."""
    return chain(_json_ld_dates(page, key), _meta_dates(page, metas), _microdata_dates(page, key))


def _json_ld_dates(page: str, key: str) -> Iterator[str]:
    """Yield dates in JSON-LD and in other scripts that use its keys."""
    if f'"{key}"' in page:
        yield from (match[1] for match in islice(_JSON_LD_DATE[key].finditer(page), _MAX_TRIES))


def _meta_dates(page: str, names: tuple[str, ...]) -> list[str]:
    """Return the contents of meta elements, the most trusted first."""
    dates: dict[str, str] = {}
    for tag in _start_tags(page, "<meta", 200):
        if any(
            part in tag for part in ("date", "time", "create", "published", "modified", "revis")
        ):
            name, content = _NAME.search(tag), _CONTENT.search(tag)
            if name and content:
                dates.setdefault(name[1], _match_value(content))
    return [dates[name] for name in names if name in dates]


def _microdata_dates(page: str, key: str) -> Iterator[str]:
    """Yield microdata dates: an attribute, else the element's text."""
    at = page.find(key)
    for _ in range(_MAX_TRIES):
        if at < 0:
            return
        start, end = page.rfind("<", max(0, at - _MAX_TAG), at), page.find(">", at, at + _MAX_TAG)
        if start >= 0 and end >= 0 and "itemprop" in page[start:at]:
            content = _CONTENT.search(page[start:end])
            yield _match_value(content) if content else page[end + 1 : end + 60].partition("<")[0]
        at = page.find(key, at + 1)


def _time_element_dates(page: str) -> Iterable[str]:
    """Return the dates of <time> marked as publication, else of the first after the heading."""
    if "<time" not in page:
        return ()
    marked = (tag for tag in _start_tags(page, "<time", _MAX_TRIES) if "pubdate" in tag)
    dates = [_match_value(content) for tag in marked if (content := _CONTENT.search(tag))]
    at = page.find("<time", max(0, page.find("<h1")))
    for tag in _start_tags(page[at:], "<time", 1) if at >= 0 else ():
        if "modified" in tag:
            continue
        content, end = _CONTENT.search(tag), at + len(tag)
        dates.append(
            _match_value(content) if content else page[end + 1 : end + 60].partition("<")[0]
        )
    return dates


def _labelled_dates(page: str) -> Iterator[str]:
    """Yield dates in the text under the heading with a time of day or a label beside them."""
    text = _strip_markup(page[(start := _content_start(page)) : start + _MAX_SOURCE])[:_MAX_TEXT]
    for form in _WRITTEN_FORMS:
        for match in islice(form.finditer(text), _MAX_TRIES):
            label = _LABEL.search(text, max(0, match.start() - 16), match.start())
            if match["H"] or label or _BYLINE.match(text, match.end()):
                yield match[0]


def _standalone_dates(page: str) -> Iterator[str]:
    """Yield the texts of elements soon after the heading that contain only a date."""
    start = _content_start(page)
    for match in islice(_STANDALONE.finditer(page, start, start + _MAX_TEXT), _MAX_TRIES):
        text = match[1].strip()
        for form in _WRITTEN_FORMS:
            if (date := form.match(text)) and (date["H"] or date.end() == len(text)):
                yield text


def _content_start(page: str) -> int:
    """Return where the page's own text begins: its h1, else the words of its title in the body."""
    if (heading := page.find("<h1")) >= 0:
        return heading
    body = max(0, page.find("<body"))
    start = page.find("<title")
    title = page[page.find(">", start) + 1 :][:100] if start >= 0 else ""
    words = _TITLE_END.split(title, maxsplit=1)[0].strip()[:8]
    return max(body, page.find(words, body)) if words else body


def _strip_markup(source: str) -> str:
    """Return source without tags, scripts and comments, white space folded."""
    for opening, closing in (("<!--", "-->"), ("<script", "</script"), ("<style", "</style")):
        head, *parts = source.split(opening)
        source = head + " ".join(part.partition(closing)[2] for part in parts)
    return " ".join(unescape(_TAGS.sub(" ", source)).split())


def _start_tags(page: str, opening: str, limit: int) -> Iterator[str]:
    """Yield at most `limit` start tags that begin with `opening`."""
    at = page.find(opening)
    for _ in range(limit):
        if at < 0:
            return
        end = page.find(">", at, at + _MAX_TAG)
        yield page[at : end if end >= 0 else at + _MAX_TAG]
        at = page.find(opening, at + len(opening))


def _match_value(match: re.Match[str]) -> str:
    return unescape(next(filter(None, match.groups()), ""))
