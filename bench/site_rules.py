"""Checks the rules for web applications on recorded webs: no labelled page may be lost.

    python -m bench.site_rules WEB …

WEB is a folder with web.warc.zst, topics.json, labels.tsv.gz and aliases.tsv. Printed are, for each
web, the software of its hosts, and the labelled pages whose URL is refused or shortened, or that
are taken for index pages. The command fails if a URL is refused or shortened.
"""

import gzip
import sys
from collections import Counter
from pathlib import Path

from focus.admission.site_rules import reason_against, strip_params
from focus.archive.replay import Archive
from focus.config import AnalysisConfig, FetchConfig
from focus.evaluate.judgments import (
    Remarks,
    page_key,
    read_aliases,
    read_labels,
    read_topics,
    resolve_alias,
)
from focus.score.analysis import PageScorer
from focus.topic.topic import from_words, to_builtins
from focus.urls.normal_form import url_host


def check(web: Path) -> list[str]:
    """Print the figures of a web; return the labelled URLs that the rules would lose."""
    remarks = Remarks()
    tasks = read_topics((web / "topics.json").read_text("utf-8"), "topics.json")
    aliases = read_aliases((web / "aliases.tsv").read_text("utf-8"), remarks)
    labels = read_labels(
        gzip.decompress((web / "labels.tsv.gz").read_bytes()).decode(),
        [task.name for task in tasks],
        aliases,
        remarks,
    )
    labelled = {page for pages in labels.values() for page in pages}
    relevant = {page for pages in labels.values() for page, is_on in pages.items() if is_on}
    scorer = PageScorer(AnalysisConfig(topic=to_builtins(from_words("football")), keep="none"))
    software: dict[str, Counter[str]] = {}
    lost, lists, pages = [], [], 0
    with Archive.open(web / "web.warc.zst", limits=FetchConfig()) as archive:
        urls = list(archive.urls())
        index_urls = set()
        for url in urls:
            fetch = archive.lookup(url)
            if fetch.failure or fetch.redirect_to:
                continue
            page = scorer.score(url, fetch.body, fetch.header("content-type"), software=None)
            software.setdefault(url_host(url), Counter())[page.software] += 1
            pages += 1
            if page.is_index_page:
                index_urls.add(url)
    for url in urls:
        if resolve_alias(page_key(url), aliases) not in labelled:
            continue
        for name in software.get(url_host(url), ()):
            if reason_against(url, name) or strip_params(url, name) != url:
                lost.append(f"{url} {name} {reason_against(url, name)}")
        if url in index_urls:
            is_on = resolve_alias(page_key(url), aliases) in relevant
            lists.append(f"{'relevant' if is_on else 'other   '} {url}")
    detected = Counter(name for counts in software.values() for name in counts if name)
    print(
        f"{web.name}: {pages} pages of {len(software)} hosts, {len(labelled)} labelled; software:"
    )
    print("   ", ", ".join(f"{name} {count}" for name, count in detected.most_common()) or "none")
    print(f"    labelled pages taken for index pages: {len(lists)}")
    for line in lists[:200]:
        print("       ", line)
    print(f"    labelled URLs that are refused or shortened: {len(lost)}")
    return lost


if __name__ == "__main__":
    losses = [line for web in sys.argv[1:] for line in check(Path(web))]
    raise SystemExit("\n".join(losses) or 0)
