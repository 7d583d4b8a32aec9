"""Writes the pages found for an alert, or for a person, as an Atom feed (RFC 4287).

`feed` alone is read from `focus serve`; `feed:/a/file.xml` is a file that is written anew with
each message, `feed:/a/folder` one for each alert there.

Ids hang on this installation's key, the alert and the page's URL: they stay the same when
a title, our address or the reader's secret changes, and nobody else gives the same ones.
"""

from __future__ import annotations

import os
import re
import secrets
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from focus.alerts.delivery.channel import Channel, Delivered, DeliveryOutcome, NotDelivered
from focus.alerts.message import UNTITLED, Message, marked, pieces
from focus.alerts.settings import DeliverySettings
from focus.errors import ConfigError
from focus.i18n import msg, tag, told
from focus.storage.alerts.records import Match, StoredAlert
from focus.storage.alerts.store import AlertStore
from focus.text.formatting import printable

if TYPE_CHECKING:
    from focus.storage.alerts.records import User

CONTENT_TYPE = "application/atom+xml; charset=utf-8"
MAX_ENTRIES = 100

_LAST = 253402300799  # the year 9999: pages may claim to be of any time
_NAMESPACE = "http://www.w3.org/2005/Atom"
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Feed(Channel):
    """An Atom feed: a file or folder that is written, or read by its address in `focus serve`."""

    kind, metavar = "feed", "[FILE.xml|FOLDER]"
    help = "In an Atom feed: a file, or a folder with one for each alert; bare: of `focus serve`."
    labels = {"zh": "我的 Atom 订阅", "en": "In my Atom feed"}
    may_be_bare = True
    is_secret = False

    @classmethod
    def is_address(cls, text: str) -> bool:
        """Whether it is the whole path of something."""
        return Path(text).is_absolute() and text.isprintable()

    @classmethod
    def typed(cls, address: str) -> str:
        """The whole path, wherever cron calls from."""
        return str(Path(address).expanduser().absolute()) if address else ""

    @classmethod
    def check_new(cls, address: str) -> None:
        """ConfigError where no file can be written."""
        folder = Path(address).parent if _is_file(address) else Path(address)
        if address and not (folder.is_dir() and os.access(folder, os.W_OK)):
            raise ConfigError(
                "--feed {address}: cannot write into the folder {folder}; make it",
                address=address,
                folder=folder,
            )

    @classmethod
    def is_sent(cls, address: str) -> bool:
        """Files are written; what `focus serve` shows is not."""
        return bool(address)

    @classmethod
    def of_account(cls, address: str, user: User) -> str | None:
        """Accounts have no files."""
        return ""

    async def deliver(self, message: Message, address: str, *, user: int) -> DeliveryOutcome:
        """Write the file, or those in the folder, anew: as all that is known now."""
        channel = f"{self.kind}:{address}"
        mine = [each for each in self.store.alerts.all(user) if channel in each.alert.channels]
        owner = self.store.users.active(user)
        language = owner.language if owner else ""
        try:
            if _is_file(address):
                text = of_user(self.store, mine, self.settings, user, language=language)
                _write(Path(address), text)
            else:
                for each in mine:
                    text = of_alert(self.store, each, self.settings, language=language)
                    _write(Path(address) / _file_name(each), text)
        except OSError as error:
            return NotDelivered(
                msg(
                    "{path}: {error}",
                    path=error.filename or address,
                    error=error,
                )
            )
        return Delivered(msg("{address} is written", address=address))


def _is_file(address: str) -> bool:
    return Path(address).suffix in (".xml", ".atom", ".rss")


def _file_name(owned: StoredAlert) -> str:
    """`3-欧冠.xml`: a name within a folder, whatever the alert is called."""
    name = re.sub(r"[^\w-]+", "_", owned.alert.name)[:60]
    return f"{owned.id}-{name}.xml"


def _write(path: Path, text: bytes) -> None:
    """A file that is there whole at any time."""
    draft = path.with_name(f".{path.name[:60]}.{secrets.token_hex(4)}")
    try:
        draft.write_bytes(text)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


class Entry(NamedTuple):
    """A page in a feed."""

    id: str
    alert: str
    match: Match


class FeedHead(NamedTuple):
    """A feed's own title and addresses.

    updated  of a feed without entries
    url      where it is read; "": nowhere in particular
    page     the web page of the same; "": none
    """

    id: str
    title: str
    language: str
    updated: float
    url: str = ""
    page: str = ""


def of_alert(
    store: AlertStore,
    owned: StoredAlert,
    settings: DeliverySettings,
    *,
    language: str,
    url: str = "",
) -> bytes:
    """The feed of one alert."""
    name = printable(owned.alert.name)
    page = f"{settings.base_url}/inbox?alert={owned.id}" if settings.base_url else ""
    about = FeedHead(
        id=_identity(settings, f"alert:{owned.id}"),
        title=told(msg("focus: {name}", name=name), language),
        language=language,
        updated=owned.created_at,
        url=url,
        page=page,
    )
    return atom(about, _entries(store, [owned], settings))


def of_user(
    store: AlertStore,
    owned: list[StoredAlert],
    settings: DeliverySettings,
    user: int,
    *,
    language: str,
    url: str = "",
) -> bytes:
    """The feed of several of a person's alerts."""
    about = FeedHead(
        id=_identity(settings, f"user:{user}"),
        title=told(msg("focus: {name}", name=msg("all alerts")), language),
        language=language,
        updated=max((each.created_at for each in owned), default=0.0),
        url=url,
        page=f"{settings.base_url}/inbox" if settings.base_url else "",
    )
    return atom(about, _entries(store, owned, settings))


def read_of(store: AlertStore, user: int) -> list[StoredAlert]:
    """A person's alerts that are read in their feed at `focus serve`."""
    return [each for each in store.alerts.all(user) if Feed.kind in each.alert.channels]


def _entries(
    store: AlertStore, owned: Iterable[StoredAlert], settings: DeliverySettings
) -> list[Entry]:
    """The newest of all, each alert's page once; what existed before an alert is no news."""
    found = [
        Entry(
            _identity(settings, f"match:{each.id}:{match.url}"), printable(each.alert.name), match
        )
        for each in owned
        for match in store.matches.of(each.id, limit=MAX_ENTRIES)
        if not match.baseline
    ]
    found.sort(key=lambda entry: (-entry.match.found_at, -entry.match.relevance, entry.id))
    return found[:MAX_ENTRIES]


def _identity(settings: DeliverySettings, of: str) -> str:
    return uuid.UUID(bytes=settings.derived(f"feed:{of}")[:16], version=4).urn


# -- the document -------------------------------------------------------------------


def atom(about: FeedHead, entries: Iterable[Entry]) -> bytes:
    """A feed document (RFC 4287), UTF-8; everything in it is escaped."""
    listed = list(entries)
    spoken = tag(about.language)
    root = Element("feed", {"xmlns": _NAMESPACE, "xml:lang": spoken})
    _add(root, "id", about.id)
    _add(root, "title", about.title)
    newest = max((entry.match.found_at for entry in listed), default=about.updated)
    _add(root, "updated", _date(newest))
    _add(SubElement(root, "author"), "name", "focus")
    _add(root, "generator", "focus")
    if about.url:
        SubElement(root, "link", rel="self", type="application/atom+xml", href=_xml(about.url))
    if about.page:
        SubElement(root, "link", rel="alternate", type="text/html", href=_xml(about.page))
    for entry in listed:
        _append(root, entry, about.language)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _append(root: Element, entry: Entry, language: str) -> None:
    match = entry.match
    element = SubElement(root, "entry")
    _add(element, "id", entry.id)
    _add(element, "title", printable(match.title) or told(UNTITLED, language))
    if match.url.startswith(("http://", "https://")):
        SubElement(element, "link", rel="alternate", href=_xml(match.url))
    _add(element, "updated", _date(match.found_at))
    if match.published_at is not None and 0 <= match.published_at <= _LAST:
        _add(element, "published", _date(match.published_at))
    SubElement(element, "category", term=_xml(entry.alert))
    _add(element, "summary", marked(pieces(match.snippet))).set("type", "html")


def _add(parent: Element, name: str, text: str) -> Element:
    element = SubElement(parent, name)
    element.text = _xml(text)
    return element


def _xml(text: str) -> str:
    """A text without the characters that no XML document may hold (XML 1.0, 2.2)."""
    return _NO_XML.sub("", text)


def _date(moment: float) -> str:
    """RFC 3339, whole seconds, UTC."""
    text = datetime.fromtimestamp(int(moment), UTC).isoformat()
    return text.removesuffix("+00:00") + "Z"
