"""Maps addresses to pages, and lists to the topics that they belong to."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from focus.demo.frame import inner_path, listing_path, tag_path
from focus.demo.hosts import DemoHost
from focus.demo.hubs import pages_for
from focus.demo.plan import WebPlan
from focus.demo.words import TAG_SUBJECTS


class PagePlace(NamedTuple):
    """A page by its sort, and which one of its sort.

    sort  front · channel · listing · tag · special · specials · article · about · inner
    key   article id, index of section or special, or the name of channel, tag, page
    """

    sort: str
    site: int
    key: int | str = 0
    page: int = 1


def address(url: str) -> str:
    """Host and path of a URL, percent-encoding made uniform: the key of every table here."""
    parts = urlsplit(url)
    path = parts.path or "/"
    if "%" in path or not path.isascii():
        path = quote(unquote(path), safe="/-_.~!$&'()*+,;=:@")
    return f"{(parts.hostname or '')}{path}"


def all_places(plan: WebPlan) -> dict[str, PagePlace]:
    """Address -> place, site by site; list pages as many as their articles fill."""
    places: dict[str, PagePlace] = {}
    for site in plan.sites:
        places |= {site.host + path: place for path, place in _hubs(plan, site).items()}
    for number, special in enumerate(plan.specials):
        host = plan.sites[special.site].host
        places[host + special.path] = PagePlace("special", special.site, number)
    for article in plan.articles:
        places[plan.sites[article.site].host + article.path] = PagePlace(
            "article", article.site, article.id
        )
    return places


def _hubs(plan: WebPlan, site: DemoHost) -> dict[str, PagePlace]:
    own = site.number
    places = {"/": PagePlace("front", own)}
    places |= {f"/{name}/": PagePlace("about", own, name) for name in ("about", "contact")}
    for index, section in enumerate(site.kind.sections):
        if section.channel != section.path:
            places[f"/{section.channel}/"] = PagePlace("channel", own, section.channel)
        if site.has("robots"):
            places[inner_path(section)] = PagePlace("inner", own, index)
        for page in range(1, pages_for(site, len(plan.listings[own, index])) + 1):
            places[listing_path(site, section, page)] = PagePlace("listing", own, index, page)
    if any(special.site == own for special in plan.specials):
        places["/zt/"] = PagePlace("specials", own)
    for tag, numbers in plan.tagged[own].items():
        for page in range(1, pages_for(site, len(numbers)) + 1):
            places[tag_path(site, tag, page)] = PagePlace("tag", own, tag, page)
    return places


def hub_subjects(plan: WebPlan, place: PagePlace) -> frozenset[str]:
    """Return the subjects that an index page links to; none for front pages and articles."""
    sections = plan.sites[place.site].kind.sections
    if place.sort == "listing":
        return frozenset({sections[int(place.key)].subject})
    if place.sort == "channel":
        return frozenset(section.subject for section in sections if section.channel == place.key)
    if place.sort == "tag":
        return TAG_SUBJECTS[str(place.key)]
    if place.sort == "special":
        return frozenset({plan.specials[int(place.key)].subject})
    return frozenset()
