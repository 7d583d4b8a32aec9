"""Converts the Free On-line Dictionary of Computing to a wiki and an encyclopedia.

    python -m bench.webs.encyclopedia FOLDER [--dictionary FILE]

The dictionary is the file foldoc.dict.dz of Debian's package dict-foldoc (GNU FDL 1.1):

    apt-get download dict-foldoc && dpkg-deb -x dict-foldoc_*.deb foldoc
    python -m bench.webs.encyclopedia FOLDER --dictionary foldoc/usr/share/dictd/foldoc.dict.dz

Entries are marked with their subjects (`<networking, protocol>`). The marks are removed from the
text and become labels; entries without a mark have no label. Half of the entries form a wiki with
categories at the foot of a page and listings of 200 entries behind `pagefrom=`. The others form an
encyclopedia without subjects: an index by letters with 100 entries per page, and references.
References also link the two halves.
"""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from zlib import crc32

from bench.script import read_options
from bench.webs.recorded import Web, page

WIKI, BOOK = "http://wiki.example", "http://encyclopedia.example"
TOPICS = {
    "networking": ["networking"],
    "programming": ["programming"],
    "hardware": ["hardware"],
    "operating system": ["operating system"],
    "mathematics": ["mathematics"],
    "database": ["database"],
    "graphics": ["graphics"],
    "security": ["security"],
    "algorithm": ["algorithm"],
    "communications": ["communications"],
}
LISTED, INDEXED = 200, 100  # entries on a page of a category, of the index
_MARK = re.compile(r"<([a-z][a-z, -]*)>\s*")
_REFERENCE = re.compile(r"\{([^{}]+)\}")


class Entry(NamedTuple):
    """An entry: names (the first is the title), paragraphs without marks, subjects."""

    names: tuple[str, ...]
    paragraphs: tuple[str, ...]
    subjects: frozenset[str]

    @property
    def title(self) -> str:
        """The title of the entry."""
        return self.names[0]

    @property
    def is_wiki(self) -> bool:
        """Whether the entry belongs to the wiki."""
        return crc32(self.title.encode()) % 2 == 0

    @property
    def url(self) -> str:
        """The URL of the entry."""
        name = quote(self.title.replace(" ", "_"), safe="")
        return f"{WIKI}/wiki/{name}" if self.is_wiki else f"{BOOK}/entry/{name}.html"


def entries(text: str) -> Iterator[Entry]:
    """Yield the entries of the dictionary without its preface."""
    body = text.partition("\nAcknowledgements\n")[2]
    for head, block in re.findall(r"^((?:\S.*\n)+)\n((?:(?: .*)?\n)+)", body, re.M):
        names = re.split(r"%%%|\n", head.strip())
        marks = {word.strip() for mark in _MARK.findall(block) for word in mark.split(",")}
        plain = _MARK.sub("", block).strip()
        parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", plain)]
        yield Entry(tuple(names), tuple(filter(None, parts)), frozenset(marks - {""}))


def build_web(dictionary: str) -> Web:
    """Return the web with both halves and labels."""
    web = Web([f"{WIKI}/wiki/Main_Page", f"{BOOK}/"])
    by_url = {entry.url: entry for entry in entries(dictionary)}
    urls_by_name = {name.lower(): e.url for e in reversed(by_url.values()) for name in e.names}
    for url, entry in by_url.items():
        prose = "".join(f"<p>{_with_links(part, urls_by_name)}</p>\n" for part in entry.paragraphs)
        heading = f"<h1>{escape(entry.title)}</h1>\n"
        render = _wiki if entry.is_wiki else _book
        web.pages[url] = render(entry.title, heading + prose, entry.subjects)
        if entry.subjects:
            web.label(url, entry.subjects, TOPICS)
    _categories(web, [entry for entry in by_url.values() if entry.is_wiki])
    _letters(web, [entry for entry in by_url.values() if not entry.is_wiki])
    return web


def _with_links(text: str, urls_by_name: dict[str, str]) -> str:
    def link(match: re.Match[str]) -> str:
        url = urls_by_name.get(" ".join(match[1].lower().split()))
        return f'<a href="{url}">{match[1]}</a>' if url else match[1]

    return _REFERENCE.sub(link, escape(text))


def _wiki(title: str, body: str, subjects: frozenset[str] = frozenset()) -> str:
    side = "".join(
        f'<li><a href="/wiki/{name}">{name.replace("_", " ")}</a></li>'
        for name in ("Main_Page", "Special:Categories", "Help:Contents", "Project:About")
    )
    foot = " | ".join(
        f'<a href="{_category(name)}">{_cased(name)}</a>' for name in sorted(subjects)
    )
    catlinks = f'<div id="catlinks">Categories: {foot}</div>' if foot else ""
    return page(
        f"{escape(title)} - Computing Wiki",
        f'<nav><ul>{side}</ul></nav><main id="content">\n{body}{catlinks}</main>'
        "<footer>Text is available under the GNU Free Documentation License.</footer>",
    )


def _book(title: str, body: str, _: frozenset[str] = frozenset()) -> str:
    letters = " ".join(f'<a href="/index/{c}.html">{c.upper()}</a>' for c in _ALPHABET)
    return page(
        f"{escape(title)} | The Encyclopedia of Computing",
        f'<header><a href="/">The Encyclopedia of Computing</a> {letters}</header>'
        f"<article>\n{body}</article>",
    )


_ALPHABET = "abcdefghijklmnopqrstuvwxyz0"


def _cased(name: str) -> str:
    return name[:1].upper() + name[1:]


def _category(name: str, start: str = "") -> str:
    title = _cased(name).replace(" ", "_")
    if start:
        return f"/w/index.php?title=Category:{title}&amp;pagefrom={quote(start)}"
    return f"/wiki/Category:{title}"


def _categories(web: Web, entries: list[Entry]) -> None:
    """Add the front page and the category listings of the wiki."""
    by_name: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        for subject in entry.subjects:
            by_name[subject].append(entry)
    names = "".join(f'<li><a href="{_category(n)}">{_cased(n)}</a></li>' for n in sorted(by_name))
    web.pages[f"{WIKI}/wiki/Special:Categories"] = _wiki("Categories", f"<ul>{names}</ul>")
    picked = "".join(f"<p>{_item(entry)}</p>" for entry in entries[::400])
    web.pages[f"{WIKI}/wiki/Main_Page"] = _wiki("Main Page", f"<h2>Featured articles</h2>{picked}")
    for kind in ("Help:Contents", "Project:About"):
        web.pages[f"{WIKI}/wiki/{kind}"] = _wiki(kind, "<p>How this wiki is made.</p>")
    for name, listed in by_name.items():
        listed.sort(key=lambda entry: entry.title.lower())
        for first in range(0, len(listed), LISTED):
            part = listed[first : first + LISTED]
            start = part[0].title if first else ""
            rest = listed[first + LISTED : first + LISTED + 1]
            more = f'<a href="{_category(name, rest[0].title)}">next page</a>' if rest else ""
            items = "".join(f"<li>{_item(entry)}</li>" for entry in part)
            head = f'<h1>Category:{_cased(name)}</h1><p>Pages in category "{_cased(name)}"</p>'
            url = WIKI + _category(name, start).replace("&amp;", "&")
            web.pages[url] = _wiki(
                f"Category:{_cased(name)}", f"{head}{more}<ul>{items}</ul>{more}"
            )
            for topic in {name} & set(TOPICS):
                web.hubs[url, topic] = "category"


def _letters(web: Web, entries: list[Entry]) -> None:
    """Add the front page and the index of the encyclopedia."""
    web.pages[f"{BOOK}/"] = _book("Home", "<p>Choose a letter.</p>")
    for letter in _ALPHABET:
        listed = [entry for entry in entries if _letter(entry) == letter]
        for number, first in enumerate(range(0, max(1, len(listed)), INDEXED), 1):
            items = "".join(f"<li>{_item(e)}</li>" for e in listed[first : first + INDEXED])
            last = first + INDEXED >= len(listed)
            more = "" if last else f'<a href="/index/{letter}-{number + 1}.html">More</a>'
            name = letter if number == 1 else f"{letter}-{number}"
            text = _book(f"Index: {letter.upper()}", f"<ul>{items}</ul>{more}")
            web.pages[f"{BOOK}/index/{name}.html"] = text


def _letter(entry: Entry) -> str:
    first = entry.title[:1].lower()
    return first if first in _ALPHABET else "0"


def _item(entry: Entry) -> str:
    return f'<a href="{entry.url}">{escape(entry.title)}</a>'


def main() -> None:
    """Read the dictionary and write the web."""
    arguments = read_options(__doc__)
    path: Path = arguments.dictionary or Path("/usr/share/dictd/foldoc.dict.dz")
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
        web = build_web(file.read())
    folder = Path(arguments.folder)
    web.write(folder, TOPICS)
    print(f"{len(web.pages)} pages, {sum(web.labels.values())} on a topic, in {folder}")


if __name__ == "__main__":
    main()
