"""Reads OpenDocument texts (.odt): headings, paragraphs, tables, links, title, author and date."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from zipfile import ZipFile

from focus.documents.html_writer import HtmlWriter
from focus.documents.zipped_xml import read_xml

_META_NAMES = {
    "author": "initial-creator",
    "dcterms.created": "creation-date",
    "description": "description",
}


def read_odt(archive: ZipFile, writer: HtmlWriter) -> None:
    """Write the contents of a text document in their order."""
    if "meta.xml" in archive.NameToInfo:
        meta = read_xml(archive, "meta.xml", "ODT")
        writer.set_title(meta.findtext(".//{*}title"))
        for name, element in _META_NAMES.items():
            writer.add_meta(name, meta.findtext(f".//{{*}}{element}"))
    body = read_xml(archive, "content.xml", "ODT").find(".//{*}body")
    _write(body if body is not None else ET.Element("body"), writer)


def _write(parent: ET.Element, writer: HtmlWriter) -> None:
    for element in parent:
        name = element.tag.rpartition("}")[2]
        if writer.is_full or name == "tracked-changes":
            continue
        if name == "table-row":
            writer.add_row(map(_text, element))
        elif name == "h":
            level = min(6, int(_attribute(element, "outline-level") or 1))
            writer.add_heading(_text(element), level)
        elif name == "p":
            links = [
                (_text(link), href)
                for link in element.iterfind(".//{*}a")
                if (href := _attribute(link, "href")).startswith("http")
            ]
            writer.add_paragraph(_text(element), links)
        else:
            _write(element, writer)


def _text(element: ET.Element) -> str:
    return "".join(element.itertext())


def _attribute(element: ET.Element, name: str) -> str:
    """Return an attribute by its name without the namespace."""
    return next((v for key, v in element.items() if key.rpartition("}")[2] == name), "")
