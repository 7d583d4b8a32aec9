"""Index pages: home, section, tag, category, series and archive pages, which list other pages.

    address_role    what an address indicates: a page, an index page, or a continuation of one
    series_address  the address shared by all pages of one index
    is_index_page   whether a parsed page is one, by its metadata, structure and address
    ancestor_pages  the index pages above a page, by its breadcrumb

The links of a tag or category page were chosen by the people of the site, so they are *members*
of what the page names (`score.strategy.yield_strategy`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from focus.admission.site_rules import has_index_rules, is_index_url
from focus.records import Link, Region
from focus.urls.normal_form import normalise, path_and_query, url_fingerprint, url_host
from focus.urls.patterns import url_pattern

if TYPE_CHECKING:  # the crawl process parses no page
    from focus.html.breadcrumbs import Crumb
    from focus.html.reader import ParsedPage

MIN_ARTICLES = 4  # minimum number of `<article>` elements of an index page
_BODY: Final = int(Region.BODY)  # attribute access on an enum class is eight times slower
MIN_SIBLING_LINKS = 10  # minimum number of links with one URL pattern in its body
MIN_OWN_TEXT = 500  # characters of a text that is not the list itself
MAX_EXAMPLES = 40  # links that are looked for in the main content
_cached_pattern = lru_cache(maxsize=10_000)(url_pattern)  # pages of a site share most links


class Role(IntEnum):
    """The kind of page that an address indicates."""

    PAGE = 0
    INDEX = 1
    CONTINUATION = 2  # page 2, 3, … of an index


def address_role(url: str) -> Role:
    """Return the role that a normalised URL indicates.

    Examples: `/`, `/tags/x/` and `/2024/05/` are INDEX; `/tags/x/page/2/` and `/?page=2` are
    CONTINUATION; `/2024/05/01/goal/` is PAGE, and so are `/category/x/12345.html`, although it is
    below a collection, and `/forum/topic/goal-7/` and `/topic/7-goal`, which are discussions. In a
    wiki `/w/index.php?title=Category:X` is INDEX, with `&pagefrom=M` CONTINUATION.
    """
    path, _, query = path_and_query(url).partition("?")
    if _PAGE_PATH.search(path) or (query and _PAGE_PARAM.search(query)):
        return Role.CONTINUATION
    if query:
        return Role.INDEX if _INDEX_QUERY.search(query) else Role.PAGE
    return Role.INDEX if _INDEX_PATH.search(path.lower()) else Role.PAGE


def series_address(url: str) -> str:
    """Return the address that all pages of an index share, without scheme, number and file name.

    Example: `http://h/tags/x/page/3/`, `https://h/tags/x/index.html` and `http://h/tags/x` all
    return `h/tags/x/`.
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
    """Return whether a link text leads to the next or previous page of a list.

    Example: True for `Next page »`, `下一页`, `Older posts` and `›`, False for `Next steps`.
    """
    return len(anchor) <= _MAX_PAGINATION_CHARS and _PAGINATION_TEXT.fullmatch(anchor) is not None


def is_index_page(
    url: str, page: ParsedPage, links: Sequence[Link], software: str = "", content: str = ""
) -> bool:
    """Return whether a parsed page lists other pages.

    The address decides first, because themes declare tag pages as articles. Page 2 of a series is
    an index page if page 1 is: a discussion may have several pages. Where the web application of
    the host is known, the address alone decides. A page that declares itself an article (Open
    Graph, JSON-LD) is not an index page. Otherwise it is one if it declares itself a list, has four
    or more `<article>` elements, or has at least ten links with one URL pattern in its body and at
    least twice as many as paragraphs. A page with a text of its own is not one if these links stand
    beside it, such as the tags in a sidebar.

    content  main content of the page
    """
    role = address_role(url)
    if role is Role.CONTINUATION:
        url = f"http://{series_address(url)}"
        role = address_role(url)
    if role is Role.INDEX or is_index_url(url, software):
        return True
    if page.is_article or has_index_rules(software):
        return False
    if page.is_index_page or page.article_count >= MIN_ARTICLES:
        return True
    min_links = max(MIN_SIBLING_LINKS, 2 * page.paragraph_count)
    if len(links) < min_links:
        return False
    address = url.partition("?")[0]  # links to its own parts are no siblings
    anchors_by_pattern = defaultdict[str, list[str]](list)
    for link in links:
        if link.region == _BODY and link.url.partition("?")[0] != address:
            # Only some strategies have patterns; what a list is does not depend on the strategy.
            anchors_by_pattern[link.pattern or _cached_pattern(link.url)].append(link.anchor)
    anchors = max(anchors_by_pattern.values(), key=len, default=[])
    if len(anchors) < min_links:
        return False
    examples = anchors[:: 1 + len(anchors) // MAX_EXAMPLES]
    is_inside = 2 * sum(anchor in content for anchor in examples) >= len(examples)
    return is_inside or len(content) < MIN_OWN_TEXT


def ancestor_pages(crumbs: Sequence[Crumb], url: str) -> list[Crumb]:
    """Return the index pages above a page, with absolute addresses, each once.

    These are the pages of its breadcrumb on its own host, except its home page and the page itself.

    Example: for `http://h/5.html` with 首页 `/`, 体育 `/sports/`, 决赛 `/5.html` and 合作
    `http://b/` the result is `("http://h/sports/", "体育")`.
    """
    ancestors: dict[bytes, Crumb] = {}
    for crumb in crumbs:
        address = normalise(crumb.href, url)
        if address and url_host(address) == url_host(url) and not _HOME.match(address):
            ancestors.setdefault(url_fingerprint(address), crumb._replace(href=address))
    ancestors.pop(url_fingerprint(url), None)
    return list(ancestors.values())


_HOME: Final = re.compile(r"[^/]*//[^/]*/(?:(?:index|default|home)\.[a-z]{3,5})?\Z")
_COLLECTIONS = r"""
albums? archives? authors? biaoqian categor(?:y|ies) cat channels? collections?
columns? fenlei genres? keywords? labels? lanmu sections? series subjects? tags? themes?
topics?(?!/(?:[^/]*-)?\d+/?\Z|/\d+-[^/]*[a-z%][^/]*/?\Z) zhuanti
专栏 专题 分类 归档 栏目 标签 系列 话题
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
"""End of an address that is a page although it is below a collection: a number or a dated name."""
_INDEX_PATH: Final = re.compile(
    rf"""/(?:(?<=\A/)(?:(?:index|default|home)\.[a-z]{{3,5}})?\Z
    | (?:articles|blogs?|forums?|issues|news|posts|products|stories|tickets)/?\Z
    | (?:{_NAMES})/?\Z
    | (?<=\A/)(?:[a-z]{{2}}(?:-[a-z]{{2}})?/)?(?:{_NAMES})\.s?html?\Z
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
