"""Reads an XML file in a zip file without entities of its own."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from zipfile import ZipFile

from focus.documents.kinds import DocumentError

_DTD_DECLARATION = re.compile(rb"<!(?:DOCTYPE[^>]*\[|ENTITY)", re.I)


def read_xml(archive: ZipFile, name: str, kind: str) -> ET.Element:
    """Return the root element; raise DocumentError if the file declares entities.

    kind  of the document, for the message
    """
    data = archive.read(name)
    if _DTD_DECLARATION.search(data):
        raise DocumentError(f"{kind}: {name} declares entities of its own")
    return ET.fromstring(data)
