"""Atom feeds (RFC 4287) of the pages that were found for an alert or for a person.

`feed` alone is served by `focus serve`; `feed:/a/file.xml` is a file that each message rewrites,
`feed:/a/folder` a folder with one file per alert.

Ids depend on the installation's key, the alert and the page's URL. They do not change with a title,
the address of the installation or the reader's secret, and no other installation creates the same.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from focus.alerts.delivery.channel import Channel, Delivered, DeliveryOutcome, NotDelivered
from focus.alerts.message import UNTITLED, Message, highlight_html, split_snippet
from focus.alerts.settings import DeliverySettings
from focus.errors import ConfigError, ExportError
from focus.i18n import language_tag, msg, translate
from focus.storage.alerts.records import Match, StoredAlert
from focus.storage.alerts.store import AlertStore
from focus.storage.whole_file import write_whole
from focus.text.formatting import printable

if TYPE_CHECKING:
    from focus.storage.alerts.records import User

CONTENT_TYPE = "application/atom+xml; charset=utf-8"
MAX_ENTRIES = 100

_LAST_TIME = 253402300799  # in the year 9999; pages may claim any time
_NAMESPACE = "http://www.w3.org/2005/Atom"
_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Feed(Channel):
    """Atom feed: a file, a folder, or an address of `focus serve`."""

    kind, metavar = "feed", "[FILE.xml|FOLDER]"
    help = "Write an Atom feed to a file or folder; without a value, serve it by `focus serve`."
    labels = {"zh": "我的 Atom 订阅", "en": "In my Atom feed"}
    can_be_bare = True
    has_secret_address = False

    @classmethod
    def is_address(cls, text: str) -> bool:
        """Return whether a text is an absolute path."""
        return Path(text).is_absolute() and text.isprintable()

    @classmethod
    def normalise_address(cls, address: str) -> str:
        """Return the absolute path, so that it does not depend on the working directory."""
        return str(Path(address).expanduser().absolute()) if address else ""

    @classmethod
    def check_new_address(cls, address: str) -> None:
        """Raise ConfigError for a folder that cannot be written."""
        folder = Path(address).parent if _is_file(address) else Path(address)
        if address and not (folder.is_dir() and os.access(folder, os.W_OK)):
            raise ConfigError(
                "--feed {address}: cannot write into the folder {folder}; create it",
                address=address,
                folder=folder,
            )

    @classmethod
    def is_delivered_to(cls, address: str) -> bool:
        """Return whether the feed is a file; `focus serve` builds the others on request."""
        return bool(address)

    @classmethod
    def account_address(cls, address: str, user: User) -> str | None:
        """Return an empty address: accounts have no files."""
        return ""

    async def deliver(self, message: Message, address: str, *, user: int) -> DeliveryOutcome:
        """Rewrite the file, or the files in the folder, with all matches known now."""
        channel = f"{self.kind}:{address}"
        alerts = [
            stored_alert
            for stored_alert in self.store.alerts.list_alerts(user)
            if channel in stored_alert.alert.channels
        ]
        owner = self.store.users.find_active(user)
        language = owner.language if owner else ""
        try:
            if _is_file(address):
                text = build_user_feed(self.store, alerts, self.settings, user, language=language)
                write_whole(Path(address), text)
            else:
                for stored_alert in alerts:
                    text = build_alert_feed(
                        self.store, stored_alert, self.settings, language=language
                    )
                    write_whole(Path(address) / _file_name(stored_alert), text)
        except ExportError as error:
            return NotDelivered(error.message)
        return Delivered(msg("{address} was written", address=address))


def _is_file(address: str) -> bool:
    return Path(address).suffix in (".xml", ".atom", ".rss")


def _file_name(stored_alert: StoredAlert) -> str:
    """Return a file name that stays within the folder whatever the alert's name contains.

    Example: `3-欧冠.xml`.
    """
    name = re.sub(r"[^\w-]+", "_", stored_alert.alert.name)[:60]
    return f"{stored_alert.id}-{name}.xml"


class Entry(NamedTuple):
    """Page in a feed."""

    id: str
    alert: str
    match: Match


class FeedHead(NamedTuple):
    """Title and addresses of a feed.

    updated  Unix seconds; used for a feed without entries.
    url      Address of the feed; an empty string for a file.
    page     Address of the web page with the same content; an empty string if there is none.
    """

    id: str
    title: str
    language: str
    updated: float
    url: str = ""
    page: str = ""


def build_alert_feed(
    store: AlertStore,
    stored_alert: StoredAlert,
    settings: DeliverySettings,
    *,
    language: str,
    url: str = "",
) -> bytes:
    """Return the feed of one alert."""
    name = printable(stored_alert.alert.name)
    page = f"{settings.base_url}/inbox?alert={stored_alert.id}" if settings.base_url else ""
    head = FeedHead(
        id=_uuid_urn(settings, f"alert:{stored_alert.id}"),
        title=translate(msg("focus: {name}", name=name), language),
        language=language,
        updated=stored_alert.created_at,
        url=url,
        page=page,
    )
    return atom_document(head, _entries(store, [stored_alert], settings))


def build_user_feed(
    store: AlertStore,
    alerts: list[StoredAlert],
    settings: DeliverySettings,
    user: int,
    *,
    language: str,
    url: str = "",
) -> bytes:
    """Return the feed of several alerts of one person."""
    head = FeedHead(
        id=_uuid_urn(settings, f"user:{user}"),
        title=translate(msg("focus: {name}", name=msg("all alerts")), language),
        language=language,
        updated=max((stored_alert.created_at for stored_alert in alerts), default=0.0),
        url=url,
        page=f"{settings.base_url}/inbox" if settings.base_url else "",
    )
    return atom_document(head, _entries(store, alerts, settings))


def alerts_in_feed(store: AlertStore, user: int) -> list[StoredAlert]:
    """Return the alerts whose pages are in a person's feed at `focus serve`."""
    return [
        stored_alert
        for stored_alert in store.alerts.list_alerts(user)
        if Feed.kind in stored_alert.alert.channels
    ]


def _entries(
    store: AlertStore, alerts: Iterable[StoredAlert], settings: DeliverySettings
) -> list[Entry]:
    """Return the newest matches of all alerts.

    Pages that existed before an alert was added are left out.
    """
    entries = [
        Entry(
            _uuid_urn(settings, f"match:{stored_alert.id}:{match.url}"),
            printable(stored_alert.alert.name),
            match,
        )
        for stored_alert in alerts
        for match in store.matches.list_for_alert(stored_alert.id, limit=MAX_ENTRIES)
        if match.baseline != 1
    ]
    entries.sort(key=lambda entry: (-entry.match.found_at, -entry.match.relevance, entry.id))
    return entries[:MAX_ENTRIES]


def _uuid_urn(settings: DeliverySettings, key: str) -> str:
    return uuid.UUID(bytes=settings.derive_secret(f"feed:{key}")[:16], version=4).urn


# -- the document -------------------------------------------------------------------


def atom_document(head: FeedHead, entries: Iterable[Entry]) -> bytes:
    """Return a feed document (RFC 4287) in UTF-8; all texts are escaped."""
    newest_first = list(entries)
    tag = language_tag(head.language)
    root = Element("feed", {"xmlns": _NAMESPACE, "xml:lang": tag})
    _add_text(root, "id", head.id)
    _add_text(root, "title", head.title)
    newest = max((entry.match.found_at for entry in newest_first), default=head.updated)
    _add_text(root, "updated", _timestamp(newest))
    _add_text(SubElement(root, "author"), "name", "focus")
    _add_text(root, "generator", "focus")
    if head.url:
        SubElement(
            root, "link", rel="self", type="application/atom+xml", href=_without_invalid(head.url)
        )
    if head.page:
        SubElement(
            root, "link", rel="alternate", type="text/html", href=_without_invalid(head.page)
        )
    for entry in newest_first:
        _add_entry(root, entry, head.language)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _add_entry(root: Element, entry: Entry, language: str) -> None:
    match = entry.match
    element = SubElement(root, "entry")
    _add_text(element, "id", entry.id)
    _add_text(element, "title", printable(match.title) or translate(UNTITLED, language))
    if match.url.startswith(("http://", "https://")):
        SubElement(element, "link", rel="alternate", href=_without_invalid(match.url))
    _add_text(element, "updated", _timestamp(match.found_at))
    if match.published_at is not None and 0 <= match.published_at <= _LAST_TIME:
        _add_text(element, "published", _timestamp(match.published_at))
    SubElement(element, "category", term=_without_invalid(entry.alert))
    _add_text(element, "summary", highlight_html(split_snippet(match.snippet))).set("type", "html")


def _add_text(parent: Element, name: str, text: str) -> Element:
    element = SubElement(parent, name)
    element.text = _without_invalid(text)
    return element


def _without_invalid(text: str) -> str:
    """Return a text without the characters that XML does not allow (XML 1.0, 2.2)."""
    return _INVALID.sub("", text)


def _timestamp(moment: float) -> str:
    """Return a time in RFC 3339: whole seconds, UTC."""
    text = datetime.fromtimestamp(int(moment), UTC).isoformat()
    return text.removesuffix("+00:00") + "Z"
