"""Makes topics of words that authors tagged pages with, to measure judges by (`bench.judges`).

    python -m bench.tag_topics LABELS FOLDER --words FILE

LABELS are those of a recorded web whose fourth column tells a page's tags ("tags:go|html"). A line
of the words' file is a topic: the word, and after a tab, divided by "|", tags that are near it.
FOLDER gets topics.json and labels.tsv: on topic is a page with the word as a tag, in either number
or script; a page with a tag near it, or with one that the word is part of, has no label; every
other page with tags is off topic. These are no topics to crawl for: their seed is any page.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from bench.script import read_options
from focus.score.matching import Matcher
from focus.topic.topic import from_words

MARK = "tags:"


def tags_of(labels: Path) -> dict[str, set[str]]:
    """URL -> its tags in small letters, of every page that has any."""
    data = labels.read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    found: dict[str, set[str]] = {}
    for line in text.splitlines()[1:]:
        url, _, _, evidence = line.split("\t")
        if evidence.startswith(MARK):
            found.setdefault(url, set()).update(evidence.removeprefix(MARK).lower().split("|"))
    return found


def labelled(tags: dict[str, set[str]], word: str, near: set[str]) -> Iterator[tuple[str, int]]:
    """URL and label of each page that has one for this word.

    A tag is the word if each covers the other: they differ in number, hyphens or script at most.
    """
    covered = Matcher(from_words(word)).coverage
    for url, own in tags.items():
        named = [tag for tag in own if covered[tag] == 1]
        if any(Matcher(from_words(tag)).coverage[word] == 1 for tag in named):
            yield url, 1
        elif not named and near.isdisjoint(own):
            yield url, 0


def main() -> None:
    """Read, write both files, print how many pages each topic has."""
    arguments = read_options(__doc__)
    tags = tags_of(arguments.labels)
    topics, lines = [], ["url\ttopic\tlabel"]
    for line in arguments.words.read_text("utf-8").splitlines():
        word, _, near = line.partition("\t")
        found = dict(labelled(tags, word, set(near.lower().split("|"))))
        topics.append({"name": word, "keywords": [word], "seeds": sorted(found)[:1]})
        lines += [f"{url}\t{word}\t{label}" for url, label in found.items()]
        print(f"{word}: {sum(found.values())} on topic, {len(found)} labelled")
    arguments.folder.mkdir(exist_ok=True)
    (arguments.folder / "topics.json").write_text(json.dumps(topics, ensure_ascii=False), "utf-8")
    (arguments.folder / "labels.tsv").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
