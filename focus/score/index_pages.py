"""Index pages: home, section, tag, category, series and archive pages, which list others.

    role      what an address promises: a page, an index page, or a further page of one
    series    the address that all pages of one index share
    is_index  whether a page that was read is one, by what it says, its structure, its address
    filed_under  those that a page stands under, by its breadcrumb

What a tag or category page lists was put there by the site's own people, so its links are
*members* of what it names (`score.strategy.yielding`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from focus.records import Link, Region
from focus.urls.normal_form import normalise, url_fingerprint, url_host

if TYPE_CHECKING:  # the crawl itself reads no page
    from focus.html.parser import Crumb, Parsed

MIN_ARTICLES = 4  # `<article>` elements of an index page, at least
_BODY: Final = int(Region.BODY)  # asked of its class, a member takes eight times as long
MIN_SIBLING_LINKS = 10  # links of one template in the body of an index page, at least


class Role(IntEnum):
    """The kind of page behind an address, as far as the address tells."""

    PAGE = 0
    INDEX = 1
    CONTINUATION = 2  # page 2, 3, … of an index


def address_role(url: str) -> Role:
    """The role of a normalised URL by its address.

    Worked: `/` and `/tags/x/` and `/2024/05/` INDEX, `/tags/x/page/2/` and `/?page=2` FURTHER,
    `/2024/05/01/goal/` and, though below a collection, `/category/x/12345.html` PAGE. Of a wiki's
    `/w/index.php?title=Category:X` INDEX, with `&pagefrom=M` FURTHER.
    """
    path, _, query = url[url.find("/", 8) :].partition("?")
    if _PAGE_PATH.search(path) or (query and _PAGE_PARAM.search(query)):
        return Role.CONTINUATION
    if query:
        return Role.INDEX if _INDEX_QUERY.search(query) else Role.PAGE
    return Role.INDEX if _INDEX_PATH.search(path.lower()) else Role.PAGE


def series_address(url: str) -> str:
    """The address that all pages of an index share, without scheme, number and file name.

    Worked: `http://h/tags/x/page/3/`, `https://h/tags/x/index.html` and `http://h/tags/x` all
    give `h/tags/x/`.
    """
    path, _, query = url[url.find("//") + 2 :].partition("?")
    other_params = "&".join(
        part for part in query.split("&") if part and not _PAGE_PARAM.fullmatch(part)
    )
    path = _INDEX_FILE.sub("", _PAGE_PATH.sub("", path)).rstrip("/")
    if wiki := _WIKI_TITLE.match(other_params):
        path, other_params = path[: path.find("/")] + "/wiki/" + wiki[1], ""
    return f"{path}/?{other_params}" if other_params else f"{path}/"


def is_pagination_text(anchor: str) -> bool:
    """Whether a link's text is that of the way to the next page or the one before.

    Worked: `Next page »`, `下一页`, `Older posts` and `›` do, `Next steps` does not.
    """
    return len(anchor) <= _MAX_PAGINATION_CHARS and _PAGINATION_TEXT.fullmatch(anchor) is not None


def is_index_page(url: str, page: Parsed, links: Sequence[Link]) -> bool:
    """Whether a page that was read lists others.

    By its address, whatever it says of itself: themes call tag pages articles. Else not if it
    says that it is an article (Open Graph, JSON-LD); but if it says that it is a list, has four
    `<article>` elements or more, or ten links or more of one template in its body, twice as
    many as paragraphs of text.
    """
    if address_role(url) is not Role.PAGE:
        return True
    if page.is_article:
        return False
    if page.is_list or page.articles >= MIN_ARTICLES:
        return True
    min_links = max(MIN_SIBLING_LINKS, 2 * page.paragraphs)
    if len(links) < min_links:
        return False
    templates = Counter([link.pattern for link in links if link.region == _BODY])
    del templates[""]
    return max(templates.values(), default=0) >= min_links


def ancestor_pages(crumbs: Sequence[Crumb], url: str) -> list[Crumb]:
    """The index pages that a page of this URL stands under, addresses absolute, each once.

    Those of its breadcrumb on its own host that are neither its home nor the page itself, by
    whose names its author has filed it. Worked, for `http://h/5.html`: of 首页 `/`, 体育
    `/sports/`, 决赛 `/5.html` and 合作 `http://b/` only `("http://h/sports/", "体育")`.
    """
    ancestors: dict[bytes, Crumb] = {}
    for crumb in crumbs:
        address = normalise(crumb.href, url)
        if address and url_host(address) == url_host(url) and not _HOME.match(address):
            ancestors.setdefault(url_fingerprint(address), crumb._replace(href=address))
    ancestors.pop(url_fingerprint(url), None)
    return list(ancestors.values())


_HOME: Final = re.compile(r"[^/]*//[^/]*/(?:(?:index|default|home)\.[a-z]{3,5})?\Z")
_COLLECTIONS = """
albums? archives? authors? biaoqian categor(?:y|ies) cat channels? collections?
columns? fenlei genres? keywords? labels? lanmu sections? series subjects? tags? themes? topics?
zhuanti 专栏 专题 分类 归档 栏目 标签 系列 话题
"""
_NAMES: Final = "|".join(
    name if name.isascii() else quote(name).lower() for name in _COLLECTIONS.split()
)
_YEAR: Final = r"(?:19[89]\d|20[0-4]\d)"
_ITEM: Final = (
    rf"(?:(?!{_YEAR}/?\Z)[\d_-]{{3,}}(?:\.s?html?)?"
    r"|[^/]*\d{4}[^/]*\.s?html?|\d{4}-\d\d-\d\d-[^/]*"
    rf"|{_YEAR}/\d\d?/(?:\d\d?/)?[^/]*[^/\d][^/]*)"
)
"""The end of what is no index though below a collection: a number, or a name with a date."""
_INDEX_PATH: Final = re.compile(
    rf"""/(?:(?<=\A/)(?:(?:index|default|home)\.[a-z]{{3,5}})?\Z
    | (?:{_NAMES})(?:\.s?html?)?/?\Z
    | (?:{_NAMES})/(?!(?:[^/]*/)*{_ITEM}/?\Z)
    | (?:category|portal|{quote("分类").lower()}|{quote("分類").lower()})(?::|%3a)[^/]+\Z
    | {_YEAR}(?:/(?:0?[1-9]|1[0-2]))?(?:/(?:0?[1-9]|[12]\d|3[01]))?/?\Z)""",
    re.VERBOSE,
)
_INDEX_QUERY: Final = re.compile(
    r"(?:^|&)(?:(?:author|cat|category|label|tag|topic)=[^&]"
    rf"|title=(?:category|portal|{quote('分类')}|{quote('分類')})(?::|%3A))",
    re.IGNORECASE,
)
_WIKI_TITLE: Final = re.compile(
    r"title=((?:category|portal|%E5%88%86%E[79][^&:]*)(?::|%3A)[^&]+)\Z", re.I
)
_INDEX_FILE: Final = re.compile(r"/(?:index|default|home)\.[a-z]{3,5}\Z")
_PAGE_PATH: Final = re.compile(
    r"/(?:pages?[/_-]?\d{1,4}(?:\.s?html?)?|p[_-]\d{1,3}(?:\.s?html?)?|p/\d\d?)/?\Z"
    r"|/(?:index|list)[_-]\d{1,4}\.s?html?\Z",
    re.IGNORECASE,
)
_PAGE_PARAM: Final = re.compile(
    r"(?:^|&)(?:(?:page|paged|page_?no|page_?num|pn|offset|start|skip)=\d{1,5}"
    r"|(?:page|subcat|file)(?:from|until)=[^&]*)(?=&|\Z)",
    re.IGNORECASE,
)
_MAX_PAGINATION_CHARS: Final = 24
_PAGINATION_TEXT: Final = re.compile(
    r"""[\s«‹<←]*(?:(?:(?:go|on)\ to\ )?(?:(?:next|previous|prev|older|newer|earlier)
    (?:\ (?:pages?|posts?|entries|articles|stories|results|\d+))?|(?:load|show)\ more)
    |[上下前后後]一?[页頁](?:\ *\(?\d*\)?)?|更早的文章|[较較]早的?文章|加[载載]更多)?[\s»›>→…]*""",
    re.IGNORECASE | re.VERBOSE,
)
