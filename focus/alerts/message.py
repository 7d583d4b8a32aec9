"""Writes the message about new pages that a person gets to read: subject, text, HTML.

Pure: what is to be told goes in, three texts come out, the same for the same input, so
that a message that has to be sent again is the same message. The HTML asks for nothing
from the network and fits light and dark; everything that came from the web is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from html import escape
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import msgspec

from focus.alerts.schedule import zone_of
from focus.i18n import Msg, language_of, msg, plural, tag, told
from focus.storage.alerts.records import MARK, Match, OutboxLease, Part
from focus.text.formatting import cut, printable

_SUBJECT_CELLS = 120
_TITLE_CELLS = 240

UNTITLED = msg("(no title)")
_INBOX = msg("Open the inbox")
_STOP = msg("Stop these mails")
_WHY = msg("You get this because an alert in focus is set to send to this address.")


class MessageItem(msgspec.Struct, frozen=True):
    """A page as it is told of; texts are one line each and may be printed as they are.

    when     `发布于 2026-11-21 08:30`, in the reader's zone and language
    pieces   the snippet, cut where a matched word begins or ends: every second one matched
    similar  near-duplicates folded under it
    """

    match: Match
    title: str
    site: str
    when: str
    pieces: tuple[str, ...]
    similar: int

    @property
    def snippet(self) -> str:
        """The snippet without marks."""
        return "".join(self.pieces)


class AlertSection(msgspec.Struct, frozen=True):
    """One alert's part of a message; `more` pages are in the inbox only."""

    name: str
    number: int
    items: tuple[MessageItem, ...]
    more: int


class Message(msgspec.Struct, frozen=True):
    """A message for one channel.

    id           the batch; the same when it is sent again
    unsubscribe  a URL that stops mails to this address by one POST; "": none
    """

    id: str
    language: str
    subject: str
    text: str
    html: str
    groups: tuple[AlertSection, ...] = ()
    unsubscribe: str = ""


def of_lease(lease: OutboxLease, *, base_url: str = "", unsubscribe: str = "") -> Message:
    """The message of what was leased, which is never nothing."""
    assert lease.parts and all(part.matches for part in lease.parts), "an empty message"
    language, zone = language_of(lease.language), zone_of(lease.zone)
    groups = tuple(_group(part, language, zone) for part in lease.parts)
    inbox = f"{base_url}/inbox" if base_url else ""
    return Message(
        lease.batch,
        language,
        _subject(groups, language),
        "\n".join(_text(groups, language, inbox, unsubscribe)) + "\n",
        _html(groups, language, inbox, unsubscribe),
        groups,
        unsubscribe,
    )


def plain_message(batch: str, language: str, *, subject: str, body: str, link: str = "") -> Message:
    """A message of words only: a test, a forgotten password. `link` stands on its own line."""
    subject, body = cut(printable(told(subject, language)), _SUBJECT_CELLS), told(body, language)
    anchor = f'<p><a href="{escape(link)}">{escape(link)}</a></p>' if link else ""
    html = _page(language, subject, f"<p>{escape(body)}</p>{anchor}")
    text = f"{body}\n" + (f"\n{link}\n" if link else "")
    return Message(batch, language_of(language), subject, text, html)


def trial(batch: str, language: str) -> Message:
    """What "send test" sends."""
    subject = msg("A test message from focus")
    body = msg("This test message has arrived: the channel works.")
    return plain_message(batch, language, subject=subject, body=body)


# -- parts --------------------------------------------------------------------------


def _group(part: Part, language: str, zone: ZoneInfo) -> AlertSection:
    items = tuple(
        _item(each, part.similar.get(each.id, 0), language, zone) for each in part.matches
    )
    return AlertSection(printable(part.alert.name), part.number, items, part.total - len(items))


def _item(match: Match, similar: int, language: str, zone: ZoneInfo) -> MessageItem:
    title = printable(match.title, _TITLE_CELLS) or told(UNTITLED, language)
    when = told(dated(match, zone), language)
    site = printable(urlsplit(match.url).hostname or "")
    return MessageItem(match, title, site, when, pieces(match.snippet), similar)


def dated(match: Match, zone: ZoneInfo) -> Msg:
    """When a page was published, or found."""
    if match.published_at is not None:
        return msg("published {when}", when=clock_time(match.published_at, zone))
    return msg("found {when}", when=clock_time(match.found_at, zone))


def clock_time(moment: float, zone: ZoneInfo) -> str:
    """`2026-11-21 08:30`; "" for a moment outside the calendar, as pages may claim one.

    Midnight is what a page means that gives a day only: `2026-11-21`.
    """
    try:
        text = datetime.fromtimestamp(moment, zone).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return ""
    return text.removesuffix(" 00:00")


def pieces(snippet: str) -> tuple[str, ...]:
    """A snippet cut at its marks, every second piece a matched word; one line, printable."""
    found = snippet.split(MARK)
    if len(found) % 2 == 0:  # a mark that nothing closes marks nothing
        found[-2:] = ["".join(found[-2:])]
    return tuple("".join(c if c.isprintable() else " " for c in piece) for piece in found)


def _subject(groups: Sequence[AlertSection], language: str) -> str:
    total = sum(len(group.items) + group.more for group in groups)
    first = groups[0]
    if total == 1:
        title = first.items[0].title
        subject = msg("{name}: {title}", name=first.name, title=title)
    elif len(groups) == 1:
        subject = msg("{name}: {pages}", name=first.name, pages=_pages(total))
    else:
        names = told(msg(", "), language).join(group.name for group in groups)
        subject = msg("{pages} ({names})", pages=_pages(total), names=names)
    return cut(told(subject, language), _SUBJECT_CELLS)


def _pages(total: int) -> Msg:
    return plural("{n} new page", "{n} new pages", n=total)


def _more(group: AlertSection, language: str, inbox: str) -> str:
    more = msg("and {n} more in the inbox", n=group.more)
    return told(more if inbox else msg("and {n} more", n=group.more), language)


def about(item: MessageItem, language: str) -> str:
    """`sina.com.cn · 发布于 2026-11-21 08:30 · 另有 4 篇相似`."""
    similar = told(msg("+{n} similar", n=item.similar), language) if item.similar else ""
    return " · ".join(filter(None, (item.site, item.when, similar)))


# -- text ---------------------------------------------------------------------------


def _text(
    groups: Iterable[AlertSection], language: str, inbox: str, unsubscribe: str
) -> Iterator[str]:
    for group in groups:
        yield f"== {group.name} =="
        yield ""
        for item in group.items:
            yield from filter(
                None,
                (f"* {item.title}", f"  {about(item, language)}", _indented(item.snippet)),
            )
            yield f"  {printable(item.match.url)}"
            yield ""
        if group.more:
            yield from (_more(group, language, inbox), "")
    if inbox:
        yield f"{told(_INBOX, language)}: {inbox}"
    if unsubscribe:
        yield f"{told(_STOP, language)}: {unsubscribe}"


def _indented(text: str) -> str:
    return f"  {text.strip()}" if text.strip() else ""


# -- HTML ---------------------------------------------------------------------------

_STYLE = """
:root{color-scheme:light dark}
body{margin:0;padding:16px;font:16px/1.5 system-ui,sans-serif;color:#1a1a1a;background:#fff}
main{max-width:640px;margin:0 auto}
h1{font-size:20px;margin:0 0 16px}
h2{font-size:17px;margin:24px 0 8px;padding-bottom:4px;border-bottom:1px solid #d0d0d0}
article{margin:0 0 18px}
a{color:#0b57d0;overflow-wrap:anywhere}
h3{font-size:16px;margin:0}
p{margin:2px 0}
.about,footer{color:#5c5c5c;font-size:14px}
mark{background:#ffe58a;color:#1a1a1a}
footer{margin-top:28px}
@media (prefers-color-scheme:dark){
body{color:#e8e8e8;background:#161616}
h2{border-color:#444}
a{color:#8ab4f8}
.about,footer{color:#a8a8a8}
mark{background:#6b5900;color:#fff}
}"""


def _html(groups: Sequence[AlertSection], language: str, inbox: str, unsubscribe: str) -> str:
    total = sum(len(group.items) + group.more for group in groups)
    body = [f"<h1>{escape(told(_pages(total), language))}</h1>"]
    for group in groups:
        body.append(f"<section><h2>{escape(group.name)}</h2>")
        body += [_article(item, language) for item in group.items]
        if group.more:
            body.append(f'<p class="about">{escape(_more(group, language, inbox))}</p>')
        body.append("</section>")
    foot = [f"<p>{_anchor(inbox, told(_INBOX, language))}</p>"] if inbox else []
    if unsubscribe:
        stop = _anchor(unsubscribe, told(_STOP, language))
        foot.append(f"<p>{escape(told(_WHY, language))} {stop}</p>")
    if foot:
        body.append(f"<footer>{''.join(foot)}</footer>")
    return _page(language, _subject(groups, language), "\n".join(body))


def _article(item: MessageItem, language: str) -> str:
    return (
        f"<article><h3>{_anchor(item.match.url, item.title)}</h3>"
        f'<p class="about">{escape(about(item, language))}</p>'
        f"<p>{marked(item.pieces)}</p></article>"
    )


def marked(snippet: Sequence[str]) -> str:
    """A snippet's pieces as HTML, the matched ones in <mark>."""
    return "".join(
        f"<mark>{escape(piece)}</mark>" if index % 2 else escape(piece)
        for index, piece in enumerate(snippet)
    )


def _anchor(url: str, words: str) -> str:
    """A link; words alone where the URL is none that a browser should follow."""
    if not url.startswith(("http://", "https://")):
        return escape(words)
    return f'<a href="{escape(url)}" rel="noopener noreferrer">{escape(words)}</a>'


def _page(language: str, title: str, body: str) -> str:
    return (
        f'<!doctype html>\n<html lang="{tag(language)}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )
