"""Renders an article's page: text, tags, related links, picks."""

from __future__ import annotations

import random

from focus.demo.frame import Frames, crumbs, items, link, site_labels, tag_path
from focus.demo.hosts import DemoHost
from focus.demo.plan import Article
from focus.demo.writing import pick, sentences


class ArticlePages:
    """Renders the articles of a plan; `seed` sets their texts."""

    def __init__(self, frames: Frames, seed: int) -> None:
        self._frames = frames
        self._plan = frames.plan
        self._seed = seed

    def render(self, article: Article) -> str:
        """Return an article with text, tags, related links and a few links to other sections."""
        site, section = self._plan.sites[article.site], self._plan.section(article)
        text_id = article.id if article.text_id < 0 else article.text_id
        rng = random.Random(self._seed * 1_000_003 + text_id)
        text = sentences(article.draft, 22 + int(rng.random() * 26), rng)
        words = site_labels(site)
        source = pick(self._plan.sites, rng)
        body = [
            f'<h1>{article.title}</h1><p class="meta">{article.published} {words.source}：'
            f"{link(f'http://{source.host}/', source.name)}</p><article>",
            *self._paragraphs(site, article, text, rng),
            f'</article><p class="tags">{words.tags}：{self._tags(site, article)}</p>',
            self._link_boxes(site, article, rng),
        ]
        return self._frames.wrap(
            site,
            f"{article.title}_{section.name}_{site.name}",
            "".join(body),
            channel=section.channel,
            head=self._meta(site, article, text[0], rng),
            crumbs=crumbs(site, section),
        )

    def _meta(self, site: DemoHost, article: Article, lead: str, rng: random.Random) -> str:
        """Meta keywords on most articles, a description on half, robots on a few."""
        head = ""
        if rng.random() < 0.8:
            head += f'<meta name="keywords" content="{",".join(article.tags)}">'
        if rng.random() < 0.5:
            head += f'<meta name="description" content="{lead}">'
        if article.noindex and article.id % 2 == 0:
            head += '<meta name="robots" content="noindex">'
        if site.has("session"):
            head += f'<link rel="canonical" href="http://{site.host}{article.path}">'
        return head

    def _paragraphs(
        self, site: DemoHost, article: Article, text: list[str], rng: random.Random
    ) -> list[str]:
        """Return the text in paragraphs with a few inline links, some of them dead."""
        words, space = site_labels(site), " " if site.kind.language == "en" else ""
        paragraphs, at = [], 0
        while at < len(text):
            size = 2 + int(rng.random() * 3)
            paragraphs.append(space.join(text[at : at + size]))
            at += size
        inline = [
            link(self._frames.href(site, self._plan.articles[n]), words.here_too)
            for n in self._plan.related[article.id]
            if rng.random() < 0.25
        ]
        if rng.random() < 0.04:
            inline.append(link(f"/files/report-{article.id}.pdf", "PDF"))
        if rng.random() < 0.25:
            inline.append(
                link(f"{article.path.rpartition('/')[0]}/gone-{article.id}", words.earlier)
            )
        for link_html in inline:
            paragraphs[int(rng.random() * len(paragraphs))] += f"（{link_html}）"
        return [f"<p>{paragraph}</p>\n" for paragraph in paragraphs]

    def _tags(self, site: DemoHost, article: Article) -> str:
        tagged = self._plan.tagged[site.number]
        return " ".join(
            [link(tag_path(site, tag), tag) if tag in tagged else tag for tag in article.tags]
        )

    def _link_boxes(self, site: DemoHost, article: Article, rng: random.Random) -> str:
        words = site_labels(site)
        related = [self._frames.headline(site, n) for n in self._plan.related[article.id]]
        picks = [self._article_link(site, n, rng) for n in self._pick_other_articles(article, rng)]
        return f"<h2>{words.related}</h2>{items(related)}<h2>{words.picks}</h2>{items(picks)}"

    def _pick_other_articles(self, article: Article, rng: random.Random) -> list[int]:
        """Return up to eight articles of the host about other subjects."""
        pool = self._plan.picks[article.site]
        about = frozenset({article.draft.subject, article.draft.second} - {""})
        candidates = dict.fromkeys([pick(pool, rng) for _ in range(10)])
        return [n for n in candidates if not self._plan.articles[n].is_about(about)][:8]

    def _article_link(self, site: DemoHost, number: int, rng: random.Random) -> str:
        """Return a link to an article, by its own URL or one of its aliases."""
        article, chance = self._plan.articles[number], rng.random()
        href = article.path
        if site.has("session"):
            href += f"?sid={rng.getrandbits(64):016x}"
        elif chance < 0.06:
            href = f"/go/{number}"
        elif chance < 0.14:
            href += "?utm_source=picks"
        if chance > 0.8:
            return f'<a href="{href}"><img src="/static/{number}.jpg" alt="{article.title}"></a>'
        return link(href, article.title)
