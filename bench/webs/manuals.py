"""Builds a web from the manuals of cppreference and Python, with URLs that name no section.

    python -m bench.webs.manuals FOLDER --unpacked DIR

DIR holds Debian's packages cppreference-doc-en-html (CC-BY-SA 3.0) and python3.11-doc (PSF):

    apt-get download cppreference-doc-en-html python3.11-doc
    for f in *.deb; do dpkg-deb -x $f DIR; done

Labels are the sections of the manuals: folders of cppreference, chapters of Python's library. The
URL of a page is its file name alone (`/sort.html`), with a number if the name is taken, and links
are rewritten. So only pages and links show the section, not URLs.
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


def build_web(folder: Path) -> Web:
    """Return the web with labels."""
    web = Web(["http://cpp.example/index.html", "http://python.example/index.html"])
    cpp, python = folder / _CPP_ROOT, folder / _PYTHON_ROOT
    for host, root, sections in (
        ("cpp", cpp, dict(_cpp_pages(cpp))),
        ("python", python, dict(_python_pages(python))),
    ):
        urls = _urls_by_file(host, root)
        for path, url in urls.items():
            web.pages[url] = _rewritten(path, urls)
            if path in sections:
                web.label(url, sections[path], TOPICS)
    return web


def _urls_by_file(host: str, root: Path) -> dict[Path, str]:
    """Return the URL of each file; the file with the shortest path gets the name without number."""
    counts: dict[str, int] = {}
    urls = {}
    for path in sorted(root.rglob("*.html"), key=lambda path: (len(path.parts), str(path))):
        if path.is_file():
            number = counts[path.stem] = counts.get(path.stem, 0) + 1
            name = path.stem if number == 1 else f"{path.stem}-{number}"
            urls[Path(os.path.normpath(path))] = f"http://{host}.example/{name}.html"
    return urls


def _cpp_pages(root: Path) -> Iterator[tuple[Path, list[str]]]:
    for path in root.rglob("*.html"):
        parts = path.relative_to(root).with_suffix("").parts
        if len(parts) > 2:
            yield path, [_CPP[parts[1]]] if parts[1] in _CPP else []


def _python_pages(root: Path) -> Iterator[tuple[Path, list[str]]]:
    library = root / "library"
    for chapter in _CHAPTER.findall((library / "index.html").read_text("utf-8")):
        topic = _PYTHON.get(chapter.removesuffix(".html"))
        for href in _CHAPTER.findall((library / chapter).read_text("utf-8")):
            yield Path(os.path.normpath(library / href)), [topic] if topic else []


def _rewritten(path: Path, urls: dict[Path, str]) -> str:
    """Return the HTML of a page with rewritten links."""

    def link(match: re.Match[str]) -> str:
        start, quote, href, fragment = match.groups()
        target = Path(os.path.normpath(path.parent / unquote(unescape(href))))
        url = urls.get(target)
        return f"{start}{quote}{escape(url)}{fragment or ''}{quote}" if url else match[0]

    return _HREF.sub(link, path.read_text("utf-8", "replace"))


def main() -> None:
    """Read the manuals and write the web."""
    arguments = read_options(__doc__)
    web = build_web(Path(arguments.unpacked))
    folder = Path(arguments.folder)
    web.write(folder, TOPICS)
    print(f"{len(web.pages)} pages, {sum(web.labels.values())} on a topic, in {folder}")


if __name__ == "__main__":
    main()
