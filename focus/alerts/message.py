"""Text of a message about new pages: subject, plain text, HTML.

The functions are pure: the same input gives the same three texts, so that a repeated message is
identical. The HTML loads nothing from the network and suits light and dark displays; everything
that comes from the web is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from html import escape
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import msgspec

from focus.alerts.schedule import find_zone
from focus.i18n import Msg, language_tag, msg, plural, supported_language, translate
from focus.storage.alerts.records import MATCH_MARK, Match, MessagePart, OutboxLease
from focus.text.formatting import printable, truncate
from focus.text.templates import make_environment

_SUBJECT_WIDTH = 120
_TITLE_WIDTH = 240

UNTITLED = msg("(no title)")
_INBOX = msg("Open the inbox")
_STOP = msg("Unsubscribe")
_EXAMPLE = msg("existed before the alert")


class MessageItem(msgspec.Struct, frozen=True):
    """Page in a message; its texts are one line each, without control characters.

    when     `发布于 2026-11-21 08:30`, in the reader's time zone and language.
    pieces   Snippet, split where a matched word begins or ends: every second part matched.
    similar  Number of near-duplicates that are left out.
    """

    match: Match
    title: str
    site: str
    when: str
    pieces: tuple[str, ...]
    similar: int

    @property
    def snippet(self) -> str:
        """Snippet without marks."""
        return "".join(self.pieces)


class AlertSection(msgspec.Struct, frozen=True):
    """Section of a message about one alert; `more` pages are in the inbox only."""

    name: str
    number: int
    items: tuple[MessageItem, ...]
    more: int


class Message(msgspec.Struct, frozen=True):
    """Message to one channel.

    id           Batch id, the same when the message is sent again.
    unsubscribe  URL that unsubscribes this address by one POST; an empty string if there is none.
    """

    id: str
    language: str
    subject: str
    text: str
    html: str
    sections: tuple[AlertSection, ...] = ()
    unsubscribe: str = ""


def compose_message(lease: OutboxLease, *, base_url: str = "", unsubscribe: str = "") -> Message:
    """Return the message about a leased batch, which contains at least one page."""
    assert lease.parts and all(part.matches for part in lease.parts), "an empty message"
    language, zone = supported_language(lease.language), find_zone(lease.zone)
    sections = tuple(_make_section(part, language, zone) for part in lease.parts)
    inbox = f"{base_url}/inbox" if base_url else ""
    subject = _subject_line(sections, language)
    return Message(
        lease.batch,
        language,
        subject,
        "\n".join(_text_lines(sections, language, inbox, unsubscribe)) + "\n",
        _render_template(
            "new_pages.html",
            language,
            subject=subject,
            page_count=translate(_page_count(sections), language),
            sections=sections,
            inbox=inbox,
            unsubscribe=unsubscribe,
            details_line=details_line,
            more_line=_more_line,
        ),
        sections,
        unsubscribe,
    )


def plain_message(batch: str, language: str, *, subject: str, body: str, link: str = "") -> Message:
    """Return a message of plain words, such as a new password; `link` is on its own line."""
    subject = truncate(printable(translate(subject, language)), _SUBJECT_WIDTH)
    body = translate(body, language)
    html = _render_template("note.html", language, subject=subject, text=body, link=link)
    text = f"{body}\n" + (f"\n{link}\n" if link else "")
    return Message(batch, supported_language(language), subject, text, html)


def trial_message(batch: str, language: str) -> Message:
    """Return the message that "send test" sends."""
    subject = msg("A test message from focus")
    body = msg("This test message has arrived: the channel works.")
    return plain_message(batch, language, subject=subject, body=body)


# -- parts --------------------------------------------------------------------------


def _make_section(part: MessagePart, language: str, zone: ZoneInfo) -> AlertSection:
    items = tuple(
        _message_item(match, part.similar.get(match.id, 0), language, zone)
        for match in part.matches
    )
    return AlertSection(printable(part.alert.name), part.number, items, part.total - len(items))


def _message_item(match: Match, similar: int, language: str, zone: ZoneInfo) -> MessageItem:
    title = printable(match.title, _TITLE_WIDTH) or translate(UNTITLED, language)
    when = translate(date_label(match, zone), language)
    site = printable(urlsplit(match.url).hostname or "")
    return MessageItem(match, title, site, when, split_snippet(match.snippet), similar)


def date_label(match: Match, zone: ZoneInfo) -> Msg:
    """Return when a page was published or, if unknown, found."""
    if match.published_at is not None:
        return msg("published {when}", when=format_time(match.published_at, zone))
    return msg("found {when}", when=format_time(match.found_at, zone))


def format_time(moment: float, zone: ZoneInfo) -> str:
    """Return `2026-11-21 08:30`; an empty string for a time that the calendar lacks.

    Midnight is left out (`2026-11-21`), since pages that state only a day are dated so.
    """
    try:
        text = datetime.fromtimestamp(moment, zone).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return ""
    return text.removesuffix(" 00:00")


def split_snippet(snippet: str) -> tuple[str, ...]:
    """Return a snippet split at its marks, every second part a matched word, on one line."""
    parts = snippet.split(MATCH_MARK)
    if len(parts) % 2 == 0:  # ignore a mark without its counterpart
        parts[-2:] = ["".join(parts[-2:])]
    return tuple("".join(c if c.isprintable() else " " for c in part) for part in parts)


def _subject_line(sections: Sequence[AlertSection], language: str) -> str:
    total = sum(len(section.items) + section.more for section in sections)
    first = sections[0]
    if total == 1 and not first.items[0].match.is_example:
        title = first.items[0].title
        subject = msg("{name}: {title}", name=first.name, title=title)
    elif len(sections) == 1:
        subject = msg("{name}: {pages}", name=first.name, pages=_page_count(sections))
    else:
        names = translate(msg(", "), language).join(section.name for section in sections)
        subject = msg("{pages} ({names})", pages=_page_count(sections), names=names)
    return truncate(translate(subject, language), _SUBJECT_WIDTH)


def _page_count(sections: Sequence[AlertSection]) -> Msg:
    """Return how many pages a message has, and whether they are new."""
    total = sum(len(section.items) + section.more for section in sections)
    if all(item.match.is_example for section in sections for item in section.items):
        return plural("{n} existing page as an example", "{n} existing pages as examples", n=total)
    return plural("{n} new page", "{n} new pages", n=total)


def _more_line(section: AlertSection, language: str, inbox: str) -> str:
    more = msg("and {n} more in the inbox", n=section.more)
    return translate(more if inbox else msg("and {n} more", n=section.more), language)


def details_line(item: MessageItem, language: str) -> str:
    """Return site, date and near-duplicates: `a.cn · 发布于 2026-11-21 08:30 · 另有 4 篇相似`."""
    similar = translate(msg("+{n} similar", n=item.similar), language) if item.similar else ""
    example = translate(_EXAMPLE, language) if item.match.is_example else ""
    return " · ".join(filter(None, (item.site, item.when, similar, example)))


# -- text ---------------------------------------------------------------------------


def _text_lines(
    sections: Iterable[AlertSection], language: str, inbox: str, unsubscribe: str
) -> Iterator[str]:
    for section in sections:
        yield f"== {section.name} =="
        yield ""
        for item in section.items:
            yield from filter(
                None,
                (f"* {item.title}", f"  {details_line(item, language)}", _indent(item.snippet)),
            )
            yield f"  {printable(item.match.url)}"
            yield ""
        if section.more:
            yield from (_more_line(section, language, inbox), "")
    if inbox:
        yield f"{translate(_INBOX, language)}: {inbox}"
    if unsubscribe:
        yield f"{translate(_STOP, language)}: {unsubscribe}"


def _indent(text: str) -> str:
    return f"  {text.strip()}" if text.strip() else ""


# -- HTML ---------------------------------------------------------------------------

_TEMPLATES = make_environment("focus.alerts")


def _render_template(template: str, language: str, **values: Any) -> str:
    page = _TEMPLATES.get_template(template)
    return page.render(lang=language, tag=language_tag(language), **values) + "\n"


def highlight_html(snippet: Sequence[str]) -> str:
    """Return the parts of a snippet as HTML, the matched ones in <mark>."""
    return "".join(
        f"<mark>{escape(piece)}</mark>" if index % 2 else escape(piece)
        for index, piece in enumerate(snippet)
    )
