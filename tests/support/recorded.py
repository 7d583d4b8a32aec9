"""A tiny recorded web for comparisons.

A portal, listing pages with good links among bad ones, articles; one topic, labels of all
articles. `record(folder)` writes web.warc.gz, topics.json, labels.tsv, hubs.tsv, aliases.tsv.
"""

import json
from pathlib import Path
from urllib.parse import urljoin

import msgspec

from focus.archive.recorder import Recorder
from focus.evaluate.comparison import Comparison
from focus.evaluate.ground_truth import ComparisonSpec
from focus.evaluate.variants import list_variants
from focus.records import FetchResult

HOST = "http://a.test"
GOOD, BAD = 12, 24


def page(title: str, *links: str, text: str = "") -> bytes:
    anchors = "".join(f'<p><a href="{link}">{link.strip("/")}</a></p>' for link in links)
    return (
        f"<!doctype html><html><head><meta charset=utf-8><title>{title}</title></head>"
        f"<body><h1>{title}</h1><p>{text}</p>{anchors}</body></html>"
    ).encode()


def answers() -> dict[str, bytes | str]:
    """Path -> body, or where it redirects to."""
    good = [f"/g/{n}" for n in range(GOOD)]
    bad = [f"/b/{n}" for n in range(BAD)]
    pages: dict[str, bytes | str] = {
        "/": page("portal", *bad[:12], "/old", "/list/bad", "/dead"),
        "/old": "/list/good",
        "/list/good": page("足球 list", *good, "/g/0/index.html", *bad[12:18], text="足球"),
        "/list/bad": page("weather list", *bad),
        "/island": page("足球 nobody links here", text="足球"),
        "/g/0/index.html": page("足球 0", "/", text="足球 足球"),
    }
    for n, path in enumerate(good):
        pages[path] = page(f"足球 {n}", "/", text="足球 " * 8 + 3 * chr(97 + n))
    for n, path in enumerate(bad):
        pages[path] = page(f"weather {n}", "/", *bad[n : n + 2], text="rain " + 3 * chr(97 + n))
    return pages


def record(folder: Path, more: dict[str, bytes | str] = {}, at: float = 1.0) -> None:  # noqa: B006
    """Write the web and the files of a judge. `more`: further or other answers, by path or URL."""
    with Recorder(folder / "web.warc.gz", software="test", new_id=lambda: "urn:x:1") as recorder:
        for path, answer in {**answers(), **more}.items():
            redirect = HOST + answer if isinstance(answer, str) else None
            headers = (("location", redirect),) if redirect else (("content-type", "text/html"),)
            body = b"" if isinstance(answer, str) else answer
            status = 301 if redirect else 200
            recorder.record(
                FetchResult(
                    urljoin(HOST, path), at, status, headers, body, len(body), redirect_to=redirect
                )
            )
    topic = {"name": "football", "keywords": ["足球"], "seeds": [f"{HOST}/", "http://b.test/"]}
    (folder / "topics.json").write_text(json.dumps([topic]), encoding="utf-8")
    write_labels(folder, {f"/g/{n}": 1 for n in range(GOOD)} | {f"/b/{n}": 0 for n in range(BAD)})
    (folder / "hubs.tsv").write_text(f"url\ttopic\tnote\n{HOST}/list/good\tfootball\t\n")
    (folder / "aliases.tsv").write_text(
        f"url\tcanonical_url\tkind\n{HOST}/g/0/index.html\t{HOST}/g/0\tduplicate-200\n"
        f"{HOST}/old\t{HOST}/list/good\tredirect-301\n"
    )


def write_labels(folder: Path, labels: dict[str, int], *more: str) -> None:
    """A labels.tsv of these paths, the page nobody links to, and further lines."""
    rows = [f"{HOST}{path}\tfootball\t{label}\ttag" for path, label in labels.items()]
    rows.append(f"{HOST}/island\tfootball\t1\ttag")
    lines = ["url\ttopic\tlabel\tevidence", *rows, *more]
    (folder / "labels.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def spec(folder: Path, *strategies: str, **changes: object) -> ComparisonSpec:
    """A comparison of these strategies on that web."""
    settings: dict[str, object] = {
        "archive": folder / "web.warc.gz", "topics": folder / "topics.json",
        "labels": folder / "labels.tsv", "hubs": folder / "hubs.tsv",
        "aliases": folder / "aliases.tsv", "variants": tuple(list_variants(strategies)),
        "out": folder / "out", "seed_orders": 2, "cache_dir": folder / "cache", **changes,
    }  # fmt: skip
    return ComparisonSpec(**settings)  # type: ignore[arg-type]


def load_results(folder: Path) -> Comparison:
    """The comparison that a run stored in its folder."""
    return msgspec.json.decode((folder / "results.json").read_bytes(), type=Comparison)
