"""Analyses one page in a scorer worker, from its bytes to a scored `Page`."""

from __future__ import annotations

import msgspec

from focus.admission.near_duplicates import LOST_CHARS, looks_lost, simhash, text_digest
from focus.admission.near_duplicates import wording as wording_of
from focus.config import AnalysisConfig
from focus.documents.convert import to_html
from focus.documents.kinds import DocumentError, kind_of
from focus.html.parser import Parsed, parse
from focus.html.shell import lack
from focus.http import zstd
from focus.records import FailureKind, Page
from focus.score.index_pages import is_index
from focus.score.matching import Matcher
from focus.score.outlinks import OutlinkReader
from focus.score.relevance import Document, make_model, relevance_threshold
from focus.score.subtopics import TITLE, runs_of
from focus.text.charset import in_utf8
from focus.topic.topic import from_builtins
from focus.urls.normal_form import Joiner, normalise, words

_LEVEL = 1  # of zstd: 2 and 3 take longer for one byte in a hundred (docs/performance.md)


def _is_lost(page: Document) -> bool:
    """Whether it says, and says little else, that there is no such page."""
    says = looks_lost(page.title) or any(map(looks_lost, page.headings[:1]))
    return says and len(page.content) <= LOST_CHARS


class PageAnalyst:
    """Decodes, parses, segments and scores pages for one topic and model."""

    def __init__(self, config: AnalysisConfig) -> None:
        self._set_up(config)

    def update(self, payload: bytes) -> None:
        """Go on with another configuration (an `AnalysisConfig` as MessagePack)."""
        self._set_up(msgspec.msgpack.decode(payload, type=AnalysisConfig), self.matcher)

    def _set_up(self, config: AnalysisConfig, before: Matcher | None = None) -> None:
        topic = from_builtins(dict(config.topic))
        same = before is not None and before.topic.keywords == topic.keywords
        self.config = config
        self.matcher = Matcher(topic, before.segmenter if before is not None and same else None)
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
        self._compressor = zstd.ZstdCompressor(level=_LEVEL)

    def analyse(
        self, url: str, body: bytes, content_type: str | None, *, wording: bool = True
    ) -> Page:
        """What the page says, how relevant it is, and what each link promises.

        wording  whether somebody will ask for `Page.wording`, which needs the whole text
        """
        try:
            source, charset = self._source(body, content_type)
        except DocumentError as error:
            return Page(failure=FailureKind.UNREADABLE, detail=str(error))
        parsed = parse(
            source,
            max_links=self.config.max_links,
            context=self.config.contexts,
            agent=self.config.agent,
        )
        base = normalise(parsed.base, url) if parsed.base else None
        joiner = Joiner(base or url, charset)
        document = self._document(url, source, parsed)
        links = self._outlinks.read(url, parsed.links, joiner, document.filed_under)
        judgement = self.model.judge(document)
        relevant = judgement.relevance > self.threshold
        lost = self.config.near_duplicates and _is_lost(document)
        index = is_index(url, parsed, links)
        rendering = lack(parsed, source)
        kept = self.config.keep == "all" or (self.config.keep == "relevant" and relevant)
        return Page(
            title=parsed.title,
            title_runs=runs_of(parsed.title, self.matcher.segmenter) if self.config.titles else (),
            keywords=parsed.keywords,
            description=parsed.description,
            language=parsed.language,
            charset=charset,
            canonical=normalise(parsed.canonical, url) if parsed.canonical else None,
            refresh=joiner.join(parsed.refresh) if parsed.refresh else None,
            noindex=parsed.asked.noindex,
            nofollow=parsed.asked.nofollow,
            unavailable_after=parsed.asked.unavailable_after,
            relevance=judgement.relevance,
            relevant=relevant,
            parts=judgement.parts,
            matched=judgement.matched,
            terms=judgement.terms if relevant else {},
            links=links,
            links_cut=parsed.links_cut,
            simhash=simhash(document.content, parsed.title)
            if self.config.near_duplicates and (relevant or lost)
            else 0,
            wording=wording_of(document.content) if wording and self.config.near_duplicates else 0,
            lost=lost,
            feeds=[feed for href in parsed.feeds if (feed := normalise(href, url))],
            index=index,
            rendering=rendering,
            named=self._named(document) if index else 0.0,
            digest=text_digest(document.content) if self.config.digests else 0,
            body_zstd=zstd.frame(self._compressor, source) if kept else b"",
        )

    def _source(self, body: bytes, content_type: str | None) -> tuple[bytes, str]:
        """The page in UTF-8, and what it was decoded by; of a document, the page made of it."""
        kind = kind_of(content_type, body) if self.config.documents else None
        if kind is not None:
            return to_html(kind, body, content_type).encode("utf-8", "replace"), "utf-8"
        return in_utf8(body, content_type)

    def _document(self, url: str, source: bytes, parsed: Parsed) -> Document:
        is_masked = self.config.mask_urls
        masked = {"keywords": "", "description": ""} if self.config.mask_meta else {}
        own = {"url": "" if is_masked else url, "url_words": "" if is_masked else words(url)}
        return Document.from_parsed(parsed, source, **own, **masked)

    def _named(self, page: Document) -> float:
        """How much of the topic the title and address of an index page name."""
        promise = self.matcher.promise
        return max(promise[page.title[:TITLE]], promise[page.url_words])
