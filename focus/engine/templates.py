"""Learns what the pages of each host repeat: texts with a keyword, and the site's name in titles.

A tagline or sidebar with a keyword would make every page of its site relevant. Such a text is
recognised by its repetition on the first pages of the host: on `MIN_PAGES` pages with different
titles, and on `BLOCK_SHARE` of all of them. It does not count from then on; the pages that it made
relevant before are scored again (`PageCorrection`). Only texts and links with a topic word are
compared, so most hosts cost nothing.

Pages with the same title count once, because variants of one page (print view, permalinks of posts)
repeat its whole text.
"""

from __future__ import annotations

import msgspec

from focus.records import NO_TEMPLATE, NewTitle, Page, SiteTemplate
from focus.text.site_texts import MIN_PAGES, common_affix, hash_text, split_title

BLOCK_SHARE = 0.8  # of the pages of the host; a text counts again below half of this
LEARNING_PAGES = 32  # pages with a keyword from which a host's template is learned
LEARNING_TITLES = 16


class LearnedPage(msgspec.Struct, frozen=True, array_like=True):
    """Page whose relevance may have to be corrected; `nth` counts requests to its host."""

    url: str
    title_hash: int
    nth: int
    relevance: float
    is_relevant: bool
    is_index_page: bool = False


class HostPages(msgspec.Struct):
    """State of learning for one host, as stored.

    page_count  pages with different titles
    pages       URL id -> page with a keyword, while the template is being learned
    blocks      hash of a text -> ids of the pages that contain it
    first_titles  URL id -> title of the first pages, until the affix is known
    """

    template: SiteTemplate = NO_TEMPLATE
    page_count: int = 0
    pages: dict[int, LearnedPage] = {}
    blocks: dict[int, list[int]] = {}
    first_titles: dict[int, str] = {}
    is_learned: bool = False
    is_affix_known: bool = False


class PageCorrection(msgspec.Struct, frozen=True):
    """Page to be scored again with the present template of its host."""

    id: int
    page: LearnedPage
    template: SiteTemplate


def is_affected(page: Page, used: SiteTemplate, present: SiteTemplate) -> bool:
    """Return whether a page that was scored with one template has another relevance now."""
    return used.blocks != present.blocks and any(
        (block in used.blocks) != (block in present.blocks) for block in page.keyword_blocks
    )


def cut_title(page: Page, affix: str) -> Page:
    """Return a page with its title cut by an affix that was learned after it was scored."""
    title, site = split_title(page.title, affix)
    if title == page.title:
        return page
    full_title = page.full_title or page.title
    return msgspec.structs.replace(page, title=title, full_title=full_title, site=site)


class Templates:
    """Templates of all hosts of one crawl.

    corrections, new_titles  changes of earlier pages that are still to be applied
    """

    def __init__(self) -> None:
        self._hosts: dict[int, HostPages] = {}
        self.corrections: list[PageCorrection] = []
        self.new_titles: list[NewTitle] = []

    def template(self, host_id: int) -> SiteTemplate:
        """Return what the pages of a host repeat."""
        state = self._hosts.get(host_id)
        return NO_TEMPLATE if state is None else state.template

    def take_new_titles(self) -> list[NewTitle]:
        """Return new titles of earlier pages since the last call."""
        titles, self.new_titles = self.new_titles, []
        return titles

    def take_corrections(self) -> list[PageCorrection]:
        """Return pages that must be scored again, since the last call."""
        corrections, self.corrections = self.corrections, []
        return corrections

    def restore(self, host_id: int, packed: bytes) -> None:
        """Restore the state of a host from an earlier run."""
        self._hosts[host_id] = msgspec.msgpack.decode(packed, type=HostPages)

    def encoded_state(self, host_id: int) -> tuple[frozenset[int], bytes]:
        """Return the repeated texts of a host, and its whole state as MessagePack."""
        state = self._hosts[host_id]
        return state.template.blocks, msgspec.msgpack.encode(state)

    def learn(self, host_id: int, url_id: int, nth: int, url: str, page: Page) -> bool:
        """Learn from a new page of a host; return whether its state is to be stored."""
        state = self._hosts.setdefault(host_id, HostPages())
        needs_storing = not state.is_affix_known
        if not state.is_affix_known:
            self._learn_affix(state, url_id, page)
        if len(state.pages) >= LEARNING_PAGES:
            state.pages, state.blocks, state.is_learned = {}, {}, True
        if state.is_learned:
            return needs_storing
        if not page.keyword_blocks:
            state.page_count += 1
            return needs_storing
        title_hash = hash_text(page.full_title or page.title)
        state.page_count += all(
            title_hash != learned.title_hash for learned in state.pages.values()
        )
        state.pages[url_id] = LearnedPage(
            url, title_hash, nth, page.relevance, page.is_relevant, page.is_index_page
        )
        for block in page.keyword_blocks:
            state.blocks.setdefault(block, []).append(url_id)
        self._update_blocks(state)
        return True

    def record_correction(self, host_id: int, url_id: int, page: Page) -> None:
        """Record the new relevance of an earlier page."""
        pages = self._hosts[host_id].pages
        if url_id in pages:
            pages[url_id] = msgspec.structs.replace(
                pages[url_id], relevance=page.relevance, is_relevant=page.is_relevant
            )

    def _update_blocks(self, state: HostPages) -> None:
        old, pages = state.template.blocks, state.pages
        new = set()
        for block, ids in state.blocks.items():
            titles = len({pages[url_id].title_hash for url_id in ids})
            share = BLOCK_SHARE * (0.5 if block in old else 1.0)
            if titles >= max(MIN_PAGES, share * state.page_count):
                new.add(block)
        if new != old:
            state.template = SiteTemplate(frozenset(new), state.template.affix)
            self._correct_pages(state, *(old ^ new))

    def _correct_pages(self, state: HostPages, *blocks: int) -> None:
        ids = {url_id for block in blocks for url_id in state.blocks.get(block, ())}
        self.corrections += [
            PageCorrection(url_id, state.pages[url_id], state.template) for url_id in sorted(ids)
        ]

    def _learn_affix(self, state: HostPages, url_id: int, page: Page) -> None:
        state.first_titles[url_id] = page.full_title or page.title
        if affix := common_affix(state.first_titles.values()):
            state.template = SiteTemplate(state.template.blocks, affix)
            for number, title in state.first_titles.items():
                rest, site = split_title(title, affix)
                if rest != title:
                    self.new_titles.append(NewTitle(number, rest, site))
        elif len(state.first_titles) < LEARNING_TITLES:
            return
        state.first_titles, state.is_affix_known = {}, True
