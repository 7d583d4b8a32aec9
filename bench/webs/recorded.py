"""Writes a generated web in the formats of `focus research compare`: archive, topics, labels.

    FOLDER/web.warc.gz, topics.json, labels.tsv, hubs.tsv

Pages are stored in the order of their URLs, so equal pages yield equal files.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from focus.archive.recorder import packed_record

_DATE = "2024-01-01T00:00:00Z"
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"


class Web:
    """Pages with labels; all topics have the same seeds."""

    def __init__(self, seeds: Sequence[str]) -> None:
        self.seeds = list(seeds)
        self.pages: dict[str, str] = {}
        self.labels: dict[tuple[str, str], int] = {}
        self.hubs: dict[tuple[str, str], str] = {}

    def label(self, url: str, subjects: Iterable[str], topics: Iterable[str]) -> None:
        """Label a page for all topics: 1 for those among its subjects, 0 for the others."""
        subjects = set(subjects)
        for topic in topics:
            self.labels[url, topic] = int(topic in subjects)

    def write(self, folder: Path, keywords: Mapping[str, Sequence[str]]) -> None:
        """Write all files; `keywords` are by topic."""
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "web.warc.gz").open("wb") as file:
            file.writelines(_record(url, self.pages[url]) for url in sorted(self.pages))
        topics = [
            {"name": name, "keywords": list(words), "seeds": self.seeds}
            for name, words in keywords.items()
        ]
        text = json.dumps(topics, ensure_ascii=False, indent=1)
        (folder / "topics.json").write_text(text + "\n", encoding="utf-8")
        _write_rows(folder / "labels.tsv", ("url", "topic", "label"), self.labels)
        _write_rows(folder / "hubs.tsv", ("url", "topic", "note"), self.hubs)


def page(title: str, body: str, *, head: str = "", language: str = "en") -> str:
    """Return an HTML page."""
    return (
        f'<!doctype html>\n<html lang="{language}"><head><meta charset="utf-8">'
        f"<title>{title}</title>{head}</head>\n<body>\n{body}\n</body></html>\n"
    )


def _record(url: str, text: str) -> bytes:
    fields = [
        ("WARC-Type", "response"),
        ("WARC-Record-ID", f"<{uuid5(NAMESPACE_URL, url).urn}>"),
        ("WARC-Target-URI", url),
        ("WARC-Date", _DATE),
        ("Content-Type", "application/http; msgtype=response"),
    ]
    return packed_record(fields, _HEAD, text.encode())


def _write_rows(path: Path, names: Sequence[str], rows: Mapping[tuple[str, str], object]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(names)
        writer.writerows((*key, value) for key, value in sorted(rows.items()))
