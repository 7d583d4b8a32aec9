"""Scoring of one page in a scorer process, from its bytes to a `Page`."""

from __future__ import annotations

import math
from datetime import UTC

import msgspec

from focus.admission.near_duplicates import (
    LOST_CHARS,
    looks_lost,
    sentence_sample,
    simhash,
    text_digest,
    wording,
)
from focus.admission.site_rules import detect_software
from focus.config import AnalysisConfig
from focus.documents.convert import to_html
from focus.documents.kinds import DocumentError, document_kind
from focus.html.parser import parse
from focus.html.publication_date import read_publication_time
from focus.html.reader import ParsedPage
from focus.html.shell import MIN_TEXT_WIDTH, detect_shell
from focus.http import zstd
from focus.records import NO_TEMPLATE, FailureKind, Page, Rendering, SiteTemplate
from focus.score.index_pages import is_index_page
from focus.score.matching import Matcher
from focus.score.outlinks import OutlinkReader
from focus.score.relevance import Document, make_model, relevance_threshold
from focus.score.relevance.base import MAX_TEXT_CHARS
from focus.score.subtopics import TITLE_CHARS, title_runs
from focus.text.charset import to_utf8
from focus.text.site_texts import split_title
from focus.topic.topic import from_builtins
from focus.urls.normal_form import UrlJoiner, normalise, url_host
from focus.urls.patterns import url_words

_MIN_DOUBTFUL, _MAX_DOUBTFUL = 0.2, 0.8
"""A judge is asked about pages with a relevance between these numbers: 2 to 6 % of the pages of the
development webs, where a tenth to a half of right answers change the verdict."""
_MAX_JUDGED_CHARS = 4_000

_ZSTD_LEVEL = 1  # levels 2 and 3 are slower and save only 1 % (docs/performance.md)


def _is_soft_404(page: Document) -> bool:
    """Return whether the page says, with little other text, that it does not exist."""
    has_not_found_title = looks_lost(page.title) or any(map(looks_lost, page.headings[:1]))
    return has_not_found_title and len(page.full_content) <= LOST_CHARS


class PageScorer:
    """Decodes, parses, segments and scores pages for one topic and relevance model."""

    def __init__(self, config: AnalysisConfig) -> None:
        self._configure(config)

    def reconfigure(self, payload: bytes) -> None:
        """Continue with another configuration, an `AnalysisConfig` as MessagePack."""
        self._configure(msgspec.msgpack.decode(payload, type=AnalysisConfig), self.matcher)

    def _configure(self, config: AnalysisConfig, old_matcher: Matcher | None = None) -> None:
        topic = from_builtins(dict(config.topic))
        has_same_keywords = old_matcher is not None and old_matcher.topic.keywords == topic.keywords
        self.config = config
        self.matcher = Matcher(
            topic, old_matcher.segmenter if old_matcher is not None and has_same_keywords else None
        )
        self.model = make_model(
            config.relevance,
            self.matcher,
            config.params,
            as_published=config.as_published,
            trained=config.trained,
        )
        self.threshold = relevance_threshold(
            config.relevance, topic, option=config.threshold, as_published=config.as_published
        )
        self._outlinks = OutlinkReader(self.matcher, config)
        self._compressor = zstd.ZstdCompressor(level=_ZSTD_LEVEL)

    def score(
        self,
        url: str,
        body: bytes,
        content_type: str | None,
        *,
        template: SiteTemplate = NO_TEMPLATE,
        software: str | None = "",
        fetched_at: float = math.inf,
    ) -> Page:
        """Return the scored page: its text fields, its relevance and its scored links.

        template  what the pages of its host repeat; it does not count
        software  the web application of the host, "" if it has none that is known; None detects it
        fetched_at  Unix seconds; a page cannot have been published later

        A document that cannot be read returns a `Page` with a failure.
        """
        try:
            source, charset = self._decode(body, content_type)
        except DocumentError as error:
            return Page(failure=FailureKind.UNREADABLE, detail=str(error))
        parsed = parse(
            source,
            max_links=self.config.max_links,
            context=self.config.contexts,
            agent=self.config.agent,
            routes=self.config.hash_routes,
        )
        base = normalise(parsed.base, url) if parsed.base else None
        joiner = UrlJoiner(base or url, charset)
        document = self._make_document(url, parsed, template)
        links = self._outlinks.read(url, parsed.links, joiner, document.ancestor_pages)
        judgement = self.model.judge(document)
        may_repeat_words = (
            judgement.relevance > 0.0
            or bool(template.blocks)
            or self.matcher.has_keyword(document.main_text[:MAX_TEXT_CHARS])
            or self.matcher.has_keyword(document.linked_text[:MAX_TEXT_CHARS])
        )
        is_soft_404 = _is_soft_404(document)
        if software is None:
            software = detect_software(parsed.generator, source, url_host(url))
        index = is_index_page(url, parsed, links, software, document.full_content)
        has_text = len(document.full_content) >= MIN_TEXT_WIDTH
        rendering = Rendering.NONE if has_text else detect_shell(parsed, source)
        may_ask = bool(self.config.judge) and not (index or is_soft_404)
        is_doubtful = may_ask and _MIN_DOUBTFUL < judgement.relevance < _MAX_DOUBTFUL
        is_over = judgement.relevance > self.threshold
        may_count = (is_over or is_doubtful) and (
            index or self._is_in_period(source, url, fetched_at)
        )
        is_relevant = is_over and may_count
        is_stored = self.config.keep == "all" or (self.config.keep == "relevant" and may_count)
        title, site = split_title(parsed.title, template.affix, parsed.site_name)
        return Page(
            title=title,
            title_runs=title_runs(title, self.matcher.segmenter) if self.config.titles else (),
            keywords=parsed.keywords,
            description=parsed.description,
            language=parsed.language,
            charset=charset,
            canonical=normalise(parsed.canonical, url) if parsed.canonical else None,
            refresh_url=joiner.join(parsed.refresh_url) if parsed.refresh_url else None,
            noindex=parsed.robots.noindex,
            nofollow=parsed.robots.nofollow,
            unavailable_after=parsed.robots.unavailable_after,
            relevance=judgement.relevance,
            is_relevant=is_relevant,
            part_scores=judgement.parts,
            matched_terms=judgement.matched,
            top_terms=judgement.terms if is_relevant else {},
            links=links,
            omitted_link_count=parsed.omitted_links,
            omitted_route_count=len(parsed.omitted_routes),
            simhash=simhash(document.full_content, parsed.title) if may_count or is_soft_404 else 0,
            wording_hash=wording(document.full_content, parsed.title),
            is_soft_404=is_soft_404,
            feed_urls=[
                feed
                for href in parsed.feed_urls
                if (feed := normalise(href, url)) and (index or not _is_own_feed(feed, url))
            ],
            is_index_page=index,
            rendering=rendering,
            software=software,
            index_topic_score=self._topic_in_name(document) if index else 0.0,
            text_digest=text_digest(document.full_content),
            text_length=len(document.full_content),
            doubtful_text=document.full_content[:_MAX_JUDGED_CHARS]
            if is_doubtful and may_count
            else "",
            sentences=() if index else sentence_sample(document.full_content),
            full_title=parsed.title if title != parsed.title else "",
            site=site,
            keyword_blocks=document.keyword_blocks(self.matcher) if may_repeat_words else (),
            body_zstd=zstd.compress_frame(self._compressor, source) if is_stored else b"",
        )

    def _is_in_period(self, source: bytes, url: str, fetched_at: float) -> bool:
        """Return whether a page was published when `since_published` and `until_published` ask."""
        since, until = self.config.since_published, self.config.until_published
        if since is until is None:
            return True
        html = source.decode("utf-8", "replace")
        published = read_publication_time(html, url, fetched_at=fetched_at, zone=UTC)
        return published is not None and (since or -math.inf) <= published < (until or math.inf)

    def _decode(self, body: bytes, content_type: str | None) -> tuple[bytes, str]:
        """Return the page in UTF-8 and the charset it was decoded from.

        A document (PDF, Office) is converted to HTML first.
        """
        kind = document_kind(content_type, body) if self.config.documents else None
        if kind is not None:
            html = to_html(kind, body, content_type, self.config.ocr)
            return html.encode("utf-8", "replace"), "utf-8"
        return to_utf8(body, content_type)

    def _make_document(self, url: str, parsed: ParsedPage, template: SiteTemplate) -> Document:
        masked = {"keywords": "", "description": ""} if self.config.mask_meta else {}
        if not self.config.mask_urls:
            masked |= {"url": url, "url_words": url_words(url)}
        return Document.from_parsed(parsed, template_blocks=template.blocks, **masked)

    def _topic_in_name(self, page: Document) -> float:
        """Return how much of the topic the title and address of a page name, 0…1."""
        promise = self.matcher.link_score
        return max(promise[page.title[:TITLE_CHARS]], promise[page.url_words])


def _is_own_feed(feed: str, url: str) -> bool:
    """Return whether a feed lists the comments on a page, as `/goal/feed/` does for `/goal/`."""
    address = url.partition("?")[0].rstrip("/")
    return feed.startswith(f"{address}/feed") or feed.startswith(f"{address}/?feed=")
