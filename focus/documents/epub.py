"""Reads EPUB: the chapters of a book, which are web pages in a zip, one after the other."""

from __future__ import annotations

import posixpath
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from urllib.parse import unquote
from zipfile import ZipFile

from selectolax.lexbor import LexborHTMLParser

from focus.documents.kinds import DocumentError
from focus.documents.writing import HtmlWriter

MAX_CHAPTERS = 500
"""Chapters that are read of a book."""

_CONTAINER = "META-INF/container.xml"
_DECLARES = re.compile(rb"<!(?:DOCTYPE[^>]*\[|ENTITY)", re.I)
_DC = "{http://purl.org/dc/elements/1.1/}"
_AFAR = re.compile(r"https?://", re.I)


def read(book: ZipFile, page: HtmlWriter) -> None:
    """Write the chapters of a book in reading order; DocumentError for one without contents."""
    try:
        path = _package_path(book)
        package = _xml(book, path)
    except (KeyError, ET.ParseError) as error:
        raise DocumentError("EPUB: it has no table of contents") from error
    names = {"title": "", "creator": "", "date": "", "description": "", "language": ""}
    for name in names:
        found = package.find(f".//{_DC}{name}")
        names[name] = (found.text or "") if found is not None else ""
    page.title(names["title"])
    page.meta("author", names["creator"])
    page.meta("dcterms.issued", names["date"])
    page.meta("description", names["description"])
    for chapter in _chapters(package, posixpath.dirname(path)):
        if page.full:
            break
        if chapter in book.NameToInfo:
            page.markup(_body(book.read(chapter)))


def _package_path(book: ZipFile) -> str:
    root = _xml(book, _CONTAINER).find(".//{*}rootfile")
    if root is None or not root.get("full-path"):
        raise KeyError(_CONTAINER)
    return root.get("full-path", "")


def _xml(book: ZipFile, name: str) -> ET.Element:
    data = book.read(name)
    if _DECLARES.search(data):
        raise DocumentError(f"EPUB: {name} declares entities of its own")
    return ET.fromstring(data)


def _chapters(package: ET.Element, folder: str) -> Iterator[str]:
    """Names in the zip of the chapters, in the order of the spine."""
    files = {item.get("id"): item.get("href", "") for item in package.iterfind(".//{*}item")}
    for number, item in enumerate(package.iterfind(".//{*}itemref")):
        href = files.get(item.get("idref"))
        if href and number < MAX_CHAPTERS:
            yield posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))


def _body(source: bytes) -> str:
    """What stands in a chapter's body; links within the book lead nowhere and are only words."""
    tree = LexborHTMLParser(source)
    tree.strip_tags(["script", "style", "link", "meta", "base", "iframe", "object"])
    for link in tree.css("a[href]"):
        if not _AFAR.match(link.attributes.get("href") or ""):
            del link.attrs["href"]
    body = tree.body
    return (body.inner_html or "") if body is not None else ""
