"""Plans the articles of the generated web: their subjects, their labels, their links.

The shape follows what real topical pages are like (measured on a recorded web):
a topic clusters in its sections, yet a part of it is scattered over others; some
36 % of a topic's pages have no in-link from another page of the topic; about a
quarter carry the topic's word in their title, a fifth nowhere at all; as many
pages again merely mention it. Some pages are on no list and are reached only
through articles about something else: the case for tunnelling.
"""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import date, timedelta
from typing import NamedTuple

from focus.demo.hosts import SUBJECTS, DemoHost, Section
from focus.demo.words import LATIN, PINYIN, UMBRELLA, WORDS
from focus.demo.writing import NEVER, OFTEN, ONCE, TITLED, Draft, pick, title

DAY_ZERO = date(2018, 6, 12)
HISTORY_DAYS = 180
SCATTERED = 0.11  # share of a section's articles that are about another subject
CITED = 0.77  # share that other articles of the subject may link to
LEAST_TAGGED = 5  # articles that a tag must have for a page of its own
LISTED_PER_CHAIN = 150  # one hidden chain per so many articles


class Article(NamedTuple):
    """One article: where it stands, what it is about (the truth) and how it shows.

    section  index into its site's sections; `listed` False: on no list, tag or hot page
    draft    subject, second subject, mentions: the text follows it, and so do the labels
    cited    other articles of the subject link to it
    appeared  when it came onto the lists, where that was after its date; None: then
    quiet    on its section's list and under its tags, on no front page or sidebar
    text_id  another article whose text it repeats; -1 for its own
    """

    id: int
    site: int
    section: int
    draft: Draft
    published: date
    path: str
    title: str
    tags: tuple[str, ...]
    cited: bool
    listed: bool
    noindex: bool
    appeared: date | None = None
    quiet: bool = False
    text_id: int = -1

    def is_about(self, subjects: frozenset[str]) -> bool:
        return self.draft.subject in subjects or self.draft.second in subjects


class Special(NamedTuple):
    """A special topic (专题): a hand-made list over one subject, or "" for a mixed one."""

    site: int
    path: str
    title: str
    subject: str
    articles: tuple[int, ...]


class WebPlan:
    """All articles by id, their links, and the lists they stand on.

    related   article id -> ids of the articles it links to in or under its text
    listings  (site, section) -> ids, newest first
    tagged    site -> tag -> ids, newest first
    newest    site -> ids, newest first
    cited     subject -> ids that others link to (`cited_at`: also by site)
    picks     site -> its listed articles of day 0
    base      how many articles were there on day 0
    """

    def __init__(self, sites: tuple[DemoHost, ...]) -> None:
        self.sites = sites
        self.articles: list[Article] = []
        self.related: list[tuple[int, ...]] = []
        self.specials: list[Special] = []
        self.listings: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.tagged: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        self.newest: dict[int, list[int]] = defaultdict(list)
        self.cited: dict[str, list[int]] = defaultdict(list)
        self.cited_at: dict[tuple[int, str], list[int]] = defaultdict(list)
        self.picks: dict[int, list[int]] = defaultdict(list)
        self.base = 0

    def section(self, article: Article) -> Section:
        return self.sites[article.site].kind.sections[article.section]


def make_plan(seed: int, articles: int, sites: tuple[DemoHost, ...]) -> WebPlan:
    """Return the plan of a web with `articles` articles."""
    plan = WebPlan(sites)
    rng = random.Random(seed)
    hidden = articles // LISTED_PER_CHAIN
    _publish(plan, articles - 5 * hidden, rng)
    _index_base(plan)
    relate(plan, 0, rng)
    for n in range(hidden):
        _add_chain(plan, SUBJECTS[n % len(SUBJECTS)], rng)
    _add_specials(plan, rng)
    index(plan)
    return plan


def _publish(plan: WebPlan, count: int, rng: random.Random) -> None:
    """Spread `count` articles over the sites and the past."""
    due = 0.0
    for site in plan.sites:
        sections = range(len(site.kind.sections))
        weights = [section.weight for section in site.kind.sections]
        start, due = round(due), due + count * site.share
        for section in rng.choices(sections, weights, k=round(due) - start):
            published = DAY_ZERO - timedelta(int(rng.random() * HISTORY_DAYS))
            add_article(
                plan,
                site,
                section,
                draft_for(site.kind.sections[section].subject, rng),
                published,
                rng,
            )


def draft_for(home: str, rng: random.Random) -> Draft:
    """Return the subject of an article in a section about `home`."""
    subject = second = mention = ""
    if home != "english" and rng.random() < SCATTERED:
        subject = pick(SUBJECTS, rng)
    if not subject or subject == home:
        subject = home
    elif home in SUBJECTS:
        second = home
    if home != "english" and rng.random() < 0.6:
        mention = pick(SUBJECTS, rng)
        mention = "" if mention in (subject, second) else mention
    strength = rng.choices((NEVER, ONCE, OFTEN, TITLED), (19, 28, 26, 27))[0]
    return Draft(subject, second, strength, mention, rng.choices((1, 2, 4), (7, 2, 1))[0])


def add_article(
    plan: WebPlan, site: DemoHost, section: int, draft: Draft, published: date, rng: random.Random
) -> Article:
    """Append one listed article to the plan."""
    number = len(plan.articles)
    scattered = draft.subject != site.kind.sections[section].subject
    known = rng.random() < (CITED / 2 if scattered else CITED)
    article = Article(
        id=number,
        site=site.number,
        section=section,
        draft=draft,
        published=published,
        path=_path(site, site.kind.sections[section], number, published, rng),
        title=title(draft.subject, draft.strength, rng),
        tags=_tags(draft, scattered and not known, rng),
        cited=known,
        listed=True,
        noindex=rng.random() < 0.012,
    )
    plan.articles.append(article)
    plan.related.append(())
    return article


def _path(
    site: DemoHost, section: Section, number: int, published: date, rng: random.Random
) -> str:
    year, month, day = published.isoformat().split("-")
    letters = "".join(rng.choices("abcdefghijkmnpqrstuvwxyz", k=8))
    return site.kind.style.article.format(
        channel=section.channel,
        section=section.path,
        date=f"{year}-{month}-{day}",
        year=year,
        month=month,
        day=day,
        id=number + 1000,
        code=f"{letters}{number:07d}",
        slug=f"{pick(PINYIN, rng)}-{pick(PINYIN, rng)}-{number}",
    )


def _tags(draft: Draft, disguised: bool, rng: random.Random) -> tuple[str, ...]:
    """Two to four tags, the first words of a list the likeliest; the head word on some."""
    subject = (draft.second or "society") if disguised else draft.subject
    if subject == "english":
        return tuple(sorted({pick(LATIN.terms[:8], rng) for _ in range(2)}))
    words = WORDS[subject]
    pool = words.terms[:14] + words.names[:6]
    tags = {pool[int(len(pool) * rng.random() ** 1.7)] for _ in range(rng.randint(2, 3))}
    if not disguised and draft.strength >= OFTEN and rng.random() < 0.85:
        tags.add(words.heads[0])
    if subject in UMBRELLA and rng.random() < 0.3:
        tags.add(UMBRELLA[subject])
    return tuple(sorted(tags))


def _index_base(plan: WebPlan) -> None:
    """Note which articles of day 0 others may link to."""
    plan.base = len(plan.articles)
    for article in plan.articles:
        plan.picks[article.site].append(article.id)
        if article.cited and not article.noindex:
            plan.cited[article.draft.subject].append(article.id)
            plan.cited_at[article.site, article.draft.subject].append(article.id)


def relate(plan: WebPlan, first: int, rng: random.Random) -> None:
    """Give each article from `first` on its links: like to like, with a stray one at times."""
    for article in plan.articles[first:]:
        site = plan.sites[article.site]
        abroad = 0.5 if site.has("blogroll") else 0.06
        links = []
        for _ in range(rng.randint(3, 6)):
            second = article.draft.second
            subject = second if second and rng.random() < 0.5 else article.draft.subject
            here = plan.cited_at.get((article.site, subject), [])
            pool = plan.cited[subject] if rng.random() < abroad or not here else here
            if pool:
                links.append(pick(pool, rng))
        plan.related[article.id] = tuple(dict.fromkeys(n for n in links if n != article.id))


def _add_chain(plan: WebPlan, subject: str, rng: random.Random) -> None:
    """Hide three articles about `subject` behind two about nothing: listed → a → b → three."""
    home = rng.randrange(plan.base)
    while plan.articles[home].is_about(frozenset({subject, "english"})):
        home = rng.randrange(plan.base)
    site, section = plan.sites[plan.articles[home].site], plan.articles[home].section
    hidden = []
    for step in range(5):
        about = "society" if step < 2 else subject
        draft = Draft(about, "", pick((NEVER, ONCE, OFTEN), rng), "", 0)
        published = plan.articles[home].published
        article = add_article(plan, site, section, draft, published, rng)
        article = article._replace(listed=False, cited=False, noindex=False)
        plan.articles[article.id] = article
        hidden.append(article.id)
    first, second, *treasure = hidden
    plan.related[home] += (first,)
    plan.related[first] = (second,)
    plan.related[second] = tuple(treasure)


def _add_specials(plan: WebPlan, rng: random.Random) -> None:
    """One special topic per 120 articles of a site: half about one subject, half mixed."""
    for site in plan.sites:
        own = plan.picks[site.number]
        for n in range(len(own) // 120):
            subject = pick(site.kind.sections, rng).subject if n % 2 == 0 else ""
            pool = plan.cited_at.get((site.number, subject), own) if subject else own
            chosen = tuple(sorted({pick(pool, rng) for _ in range(18)}, reverse=True))
            name = title(subject or site.kind.sections[0].subject, NEVER, rng).split(" ")[0]
            path = f"/zt/{pick(PINYIN, rng)}{n + 1}/"
            plan.specials.append(Special(site.number, path, name, subject, chosen))


def index(plan: WebPlan) -> None:
    """Fill the lists, newest first."""
    order = sorted(
        plan.articles,
        key=lambda article: (article.appeared or article.published, article.id),
        reverse=True,
    )
    for article in order:
        if not article.listed:
            continue
        if not article.quiet:
            plan.newest[article.site].append(article.id)
        plan.listings[article.site, article.section].append(article.id)
        for tag in article.tags:
            plan.tagged[article.site][tag].append(article.id)
    for tagged in plan.tagged.values():
        for tag in [tag for tag, numbers in tagged.items() if len(numbers) < LEAST_TAGGED]:
            del tagged[tag]
