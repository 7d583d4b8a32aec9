"""Recorded webs that scripts make: pages, links that lead somewhere, labels that no page shows."""

import re
from pathlib import Path

import pytest

from bench.webs import encyclopedia, manuals
from bench.webs.recorded import Web, page
from focus.archive.replay import Archive
from focus.evaluate.judgments import Remarks, read_labels, read_topics

DICTIONARY = """what it is about

Acknowledgements

   To all.

Ethernet
10BASE

   <networking> A {local area network} by {Xerox}, see {nothing}.

   Second paragraph.

Xerox

   <company, graphics> A company.

local area network

   <networking> (LAN) A network of < 5 km.

unmarked

   Nothing is known.
"""


@pytest.fixture(scope="module")
def web() -> Web:
    return encyclopedia.build_web(DICTIONARY)


def entry(web: Web, name: str) -> tuple[str, str]:
    """URL and text of an entry."""
    (url,) = (url for url in web.pages if url.partition("://")[2].split("/")[-1].startswith(name))
    return url, web.pages[url]


def test_entry_has_text_without_markup(web: Web) -> None:
    _, text = entry(web, "Ethernet")
    assert "&lt;networking&gt;" not in text and text.count("<p>") == 2
    assert "km" in entry(web, "local_area")[1]


def test_reference_links_to_its_target(web: Web) -> None:
    _, text = entry(web, "Ethernet")
    assert f'<a href="{entry(web, "local_area")[0]}">local area network</a>' in text
    assert "see nothing." in text


def test_marks_become_labels(web: Web) -> None:
    on = {(url, topic) for (url, topic), label in web.labels.items() if label}
    ethernet, xerox, lan = (entry(web, name)[0] for name in ("Ethernet", "Xerox", "local_area"))
    assert on == {(ethernet, "networking"), (lan, "networking"), (xerox, "graphics")}
    assert entry(web, "unmarked")[0] not in {url for url, _ in web.labels}


def test_links_of_generated_web_lead_to_pages(web: Web) -> None:
    for url, text in web.pages.items():
        host = "/".join(url.split("/")[:3])
        for href in re.findall(r'href="([^"]+)"', text):
            target = href.replace("&amp;", "&")
            assert (target if "://" in target else host + target) in web.pages


def test_manual_pages_have_names_as_paths(tmp_path: Path) -> None:
    cpp, python = tmp_path / manuals._CPP_ROOT, tmp_path / manuals._PYTHON_ROOT / "library"
    item = '<li class="toctree-l1"><a class="reference internal" href="'
    files = {
        cpp / "index.html": '<a href="cpp/thread/index.html#x">threads</a> <a href="/away">a</a>',
        cpp / "cpp/thread/index.html": "<a class=k href='../../index.html'>top</a>",
        python / "index.html": f'{item}i18n.html">',
        python / "i18n.html": f'{item}l.html">',
        python / "l.html": "gettext",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    web = manuals.build_web(tmp_path)
    threads = "http://cpp.example/index-2.html"
    assert f'<a href="{threads}#x">' in web.pages["http://cpp.example/index.html"]
    assert "href='http://cpp.example/index.html'" in web.pages[threads]
    expected = [(threads, "thread"), ("http://python.example/l.html", "locale")]
    assert [key for key, label in web.labels.items() if label] == expected


def test_written_web_is_read_by_comparison(tmp_path: Path) -> None:
    web = Web(["http://a.example/"])
    web.pages["http://a.example/"] = page("Home", "<p>one</p>")
    web.label("http://a.example/", ["logic"], ["logic", "law"])
    web.write(tmp_path, {"logic": ["logic"], "law": ["law"]})
    tasks = {t.name: t for t in read_topics((tmp_path / "topics.json").read_text("utf-8"), "t")}
    labels = read_labels((tmp_path / "labels.tsv").read_text("utf-8"), tasks, {}, Remarks())
    assert [list(labels[name].values()) for name in ("logic", "law")] == [[True], [False]]
    with Archive.open(tmp_path / "web.warc.gz", cache_dir=tmp_path) as archive:
        assert b"<p>one</p>" in archive.lookup("http://a.example/").body
