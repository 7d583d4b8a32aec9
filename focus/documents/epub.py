"""Reads EPUB: the chapters of a book, which are web pages in a zip file, in order."""

from __future__ import annotations

import posixpath
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from urllib.parse import unquote
from zipfile import ZipFile

from selectolax.lexbor import LexborHTMLParser

from focus.documents.html_writer import HtmlWriter
from focus.documents.kinds import DocumentError
from focus.documents.zipped_xml import read_xml

MAX_CHAPTERS = 500
"""Chapters read of one book."""

_CONTAINER = "META-INF/container.xml"
_DC = "{http://purl.org/dc/elements/1.1/}"
_WEB_URL = re.compile(r"https?://", re.I)


def read_epub(book: ZipFile, writer: HtmlWriter) -> None:
    """Write the chapters of a book in reading order; raise DocumentError if it has no contents."""
    try:
        path = _package_path(book)
        package = read_xml(book, path, "EPUB")
    except (KeyError, ET.ParseError) as error:
        raise DocumentError("EPUB: it has no table of contents") from error
    names = {"title": "", "creator": "", "date": "", "description": "", "language": ""}
    for name in names:
        element = package.find(f".//{_DC}{name}")
        names[name] = (element.text or "") if element is not None else ""
    writer.set_title(names["title"])
    writer.add_meta("author", names["creator"])
    writer.add_meta("dcterms.issued", names["date"])
    writer.add_meta("description", names["description"])
    for chapter in _chapter_names(package, posixpath.dirname(path)):
        if writer.is_full:
            break
        if chapter in book.NameToInfo:
            writer.add_markup(_body_html(book.read(chapter)))


def _package_path(book: ZipFile) -> str:
    root = read_xml(book, _CONTAINER, "EPUB").find(".//{*}rootfile")
    if root is None or not root.get("full-path"):
        raise KeyError(_CONTAINER)
    return root.get("full-path", "")


def _chapter_names(package: ET.Element, folder: str) -> Iterator[str]:
    """Yield the names of the chapters in the zip file, in the order of the spine."""
    files = {item.get("id"): item.get("href", "") for item in package.iterfind(".//{*}item")}
    for number, item in enumerate(package.iterfind(".//{*}itemref")):
        href = files.get(item.get("idref"))
        if href and number < MAX_CHAPTERS:
            yield posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))


def _body_html(source: bytes) -> str:
    """Return the contents of a chapter's body; links within the book are reduced to their words."""
    tree = LexborHTMLParser(source)
    tree.strip_tags(["script", "style", "link", "meta", "base", "iframe", "object"])
    for link in tree.css("a[href]"):
        if not _WEB_URL.match(link.attributes.get("href") or ""):
            del link.attrs["href"]
    body = tree.body
    return (body.inner_html or "") if body is not None else ""
