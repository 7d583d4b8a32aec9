"""Makes a web of two manuals whose addresses name no section: cppreference and Python's.

    python -m bench.webs.manuals FOLDER --unpacked DIR

DIR holds Debian's packages cppreference-doc-en-html (CC-BY-SA 3.0) and python3.11-doc (PSF):

    apt-get download cppreference-doc-en-html python3.11-doc
    for f in *.deb; do dpkg-deb -x $f DIR; done

Labels are the manuals' own sections: a folder of cppreference, a chapter of Python's library. Every
page stands at its file's name alone (`/sort.html`), with a number where two have the same, and
the links follow: so the section is told by pages and their links, not by addresses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from urllib.parse import unquote

from bench.script import read_options
from bench.webs.recorded import Web

TOPICS = {
    "string": ["string"],
    "mathematics": ["mathematics"],
    "thread": ["thread"],
    "file system": ["file system"],
    "container": ["container"],
    "networking": ["networking"],
    "locale": ["locale"],
    "algorithm": ["algorithm"],
}
_CPP = {
    "string": "string",
    "numeric": "mathematics",
    "thread": "thread",
    "filesystem": "file system",
    "container": "container",
    "locale": "locale",
    "algorithm": "algorithm",
}
_PYTHON = {
    "text": "string",
    "numeric": "mathematics",
    "concurrency": "thread",
    "filesys": "file system",
    "ipc": "networking",
    "internet": "networking",
    "i18n": "locale",
}
_CPP_ROOT, _PYTHON_ROOT = "usr/share/cppreference/doc/html/en", "usr/share/doc/python3.11/html"
_HREF = re.compile(r"""(<a\b[^>]*?\bhref=)(["'])([^"'#]+)(#[^"']*)?\2""", re.I)
_CHAPTER = re.compile(r'toctree-l1"><a class="reference internal" href="([^"#]+)"')


def make(folder: Path) -> Web:
    """The web and its labels."""
    web = Web(["http://cpp.example/index.html", "http://python.example/index.html"])
    cpp, python = folder / _CPP_ROOT, folder / _PYTHON_ROOT
    for host, root, sections in (
        ("cpp", cpp, dict(_of_cpp(cpp))),
        ("python", python, dict(_of_python(python))),
    ):
        places = _places(host, root)
        for path, url in places.items():
            web.pages[url] = _moved(path, places)
            if path in sections:
                web.label(url, sections[path], TOPICS)
    return web


def _places(host: str, root: Path) -> dict[Path, str]:
    """Each file's address; the one highest up has the bare name."""
    taken: dict[str, int] = {}
    places = {}
    for path in sorted(root.rglob("*.html"), key=lambda path: (len(path.parts), str(path))):
        if path.is_file():
            number = taken[path.stem] = taken.get(path.stem, 0) + 1
            name = path.stem if number == 1 else f"{path.stem}-{number}"
            places[Path(os.path.normpath(path))] = f"http://{host}.example/{name}.html"
    return places


def _of_cpp(root: Path) -> Iterator[tuple[Path, list[str]]]:
    for path in root.rglob("*.html"):
        parts = path.relative_to(root).with_suffix("").parts
        if len(parts) > 2:
            yield path, [_CPP[parts[1]]] if parts[1] in _CPP else []


def _of_python(root: Path) -> Iterator[tuple[Path, list[str]]]:
    library = root / "library"
    for chapter in _CHAPTER.findall((library / "index.html").read_text("utf-8")):
        topic = _PYTHON.get(chapter.removesuffix(".html"))
        for href in _CHAPTER.findall((library / chapter).read_text("utf-8")):
            yield Path(os.path.normpath(library / href)), [topic] if topic else []


def _moved(path: Path, places: dict[Path, str]) -> str:
    """A page with its links to where their targets stand now."""

    def link(found: re.Match[str]) -> str:
        start, quote, href, fragment = found.groups()
        target = Path(os.path.normpath(path.parent / unquote(unescape(href))))
        url = places.get(target)
        return f"{start}{quote}{escape(url)}{fragment or ''}{quote}" if url else found[0]

    return _HREF.sub(link, path.read_text("utf-8", "replace"))


def main() -> None:
    """Read the manuals, write the web."""
    arguments = read_options(__doc__)
    web = make(Path(arguments.unpacked))
    folder = Path(arguments.folder)
    web.write(folder, TOPICS)
    print(f"{len(web.pages)} pages, {sum(web.labels.values())} on a topic, in {folder}")


if __name__ == "__main__":
    main()
