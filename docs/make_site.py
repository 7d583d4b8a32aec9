"""Build the documentation as a site in build/docs/site.

Usage: python docs/make_site.py, or make docs

Each language is a project of its own (search and menus speak one), English at the top and Chinese
in zh/. What lies outside docs/ becomes a page, too, so links between pages are written anew; one
that leads nowhere ends the build, here or by --strict. The menu is the index page.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from os.path import relpath
from pathlib import Path, PurePosixPath
from posixpath import normpath

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "docs"
SITE = BUILD / "site"
HOMES = {"en": PurePosixPath(), "zh": PurePosixPath("zh")}  # in the site
OUTSIDE = {
    "README.md": "read-me.md",
    "README.zh-CN.md": "zh/read-me.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "LICENSE": "LICENSE.txt",
}
"""What is beside docs/, and its place in the site."""

_LINK = re.compile(r"""(\]\(|src=")([^)\s"#]+)([^)\s"]*)""")
_ELSEWHERE = re.compile(r"[a-z]+:")
_ROW = re.compile(r"^\|.*$", re.M)
_CODE = re.compile(r"`[^`]*`")


def places() -> dict[str, str]:
    """File of the repository -> its place in the site."""
    docs = (path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*"))
    shown = (path for path in docs if path.endswith((".md", ".svg", ".webp", ".css")))
    return OUTSIDE | {path: path.removeprefix("docs/") for path in shown}


def language_of(place: str) -> str:
    """Return the project that a page of the site belongs to."""
    return "zh" if place.startswith("zh/") else "en"


def rewritten(text: str, source: str, places: dict[str, str]) -> str:
    """Return a page with the links of the site.

    Links to pages of its own project name their source, those to the other project their place in
    the site, and pictures are those of its own project.
    """
    here = places[source]
    home = HOMES[language_of(here)]

    def link(found: re.Match[str]) -> str:
        begins, target, anchor = found.groups()
        if _ELSEWHERE.match(target):
            return found[0]
        file = normpath(PurePosixPath(source).parent / target)
        if file not in places:
            sys.exit(f"{source}: {target} leads to nothing that the site has")
        place = places[file]
        if not place.endswith(".md"):
            place = str(home / place)
        elif language_of(place) != language_of(here):
            place = place.removesuffix("md") + "html"
        return begins + relpath(place, PurePosixPath(here).parent) + anchor

    return _ROW.sub(lambda row: _CODE.sub(_bare, row[0]), _LINK.sub(link, text))


def _bare(code: re.Match[str]) -> str:
    """Code in a table: GitHub wants its pipes escaped, Python's Markdown shows the backslash."""
    return code[0].replace("\\|", "|")


def menu(index: str) -> Iterator[str | dict[str, object]]:
    """Return the headings of an index page, each with the links below it."""
    yield "index.md"
    for section in re.split(r"^## ", index, flags=re.M)[1:]:
        links = re.findall(r"\[([^\]]+)\]\(([^)]+)\)(（英文）)?", section)
        entries = [{name + english: target} for name, target, english in links]
        yield {section.partition("\n")[0]: entries}


def lay_out(language: str, places: dict[str, str]) -> Path:
    """Write one language's project; the path of its settings."""
    home = HOMES[language]
    folder = BUILD / language
    shutil.rmtree(folder, ignore_errors=True)
    for source, place in places.items():
        is_page = place.endswith(".md")
        if is_page and language_of(place) != language:
            continue
        target = folder / (PurePosixPath(place).relative_to(home) if is_page else place)
        target.parent.mkdir(parents=True, exist_ok=True)
        if is_page:
            text = (ROOT / source).read_text(encoding="utf-8")
            target.write_text(rewritten(text, source, places), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / source, target)
    settings = (ROOT / "docs" / "site.yml").read_text(encoding="utf-8")
    for each, top in HOMES.items():
        settings = settings.replace(f"LINK_{each.upper()}", relpath(top / "index.html", home))
    settings = settings.replace("\ntheme:\n", f"\ntheme:\n  language: {language}\n")
    own = {
        "docs_dir": language,
        "site_dir": str(PurePosixPath("site") / home),
        "nav": list(menu((folder / "index.md").read_text(encoding="utf-8"))),
    }
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in own.items())
    file = BUILD / f"{language}.yml"
    file.write_text(settings + "".join(lines), encoding="utf-8")
    return file


def main() -> None:
    """Build both languages; English first, as its folder holds the other."""
    shutil.rmtree(SITE, ignore_errors=True)
    for language in HOMES:
        settings = lay_out(language, places())
        command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(settings)]
        if code := subprocess.run(command, cwd=BUILD, check=False).returncode:
            sys.exit(code)


if __name__ == "__main__":
    main()
