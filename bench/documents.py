"""Compares the text that we take out of a PDF with that of pdfminer.six, and its cost.

    python -m bench.documents ARCHIVE [--pages 40] [--json FILE]

Pages drawn from a recorded web are printed to PDF by Chromium, which also tells their words: those
that it shows on paper. Recall and precision of words (a multiset: n times there, n times here)
and CPU milliseconds a document, in the mean. The extra documents, playwright, Chromium and
pdfminer must be installed (pip install pdfminer.six); nothing in focus needs the latter.
"""

import io
import shutil
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator

from playwright.sync_api import sync_playwright

from bench.pages import draw
from bench.script import read_options, table, tell
from focus.archive.replay import Archive
from focus.documents.convert import to_html
from focus.html.parser import parse
from focus.rendering.chromium import NAMES
from focus.text.charset import decode
from focus.text.tokenisation import Segmenter

Words = Counter[str]


def printed(archive: Archive, number: int) -> Iterator[tuple[str, bytes]]:
    """The text of pages and their PDF; scripts and everything that they load are left out."""
    program = next(filter(None, map(shutil.which, NAMES)))
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_context(java_script_enabled=False, offline=True).new_page()
        page.emulate_media(media="print")
        for each in draw(archive, number):
            page.set_content(decode(each.body, each.content_type)[0], wait_until="commit")
            yield page.inner_text("body"), page.pdf()
        browser.close()


def ours(document: bytes) -> str:
    """Text by `focus.documents`, with the title that a page would have besides."""
    return "\n".join(block.text for block in parse(to_html("pdf", document)).blocks())


def theirs(document: bytes) -> str:
    """Text by pdfminer.six with its defaults."""
    from pdfminer.high_level import extract_text

    return str(extract_text(io.BytesIO(document)))


def main() -> None:
    """Print, read twice, tell."""
    options = read_options(__doc__)
    segmenter = Segmenter()
    readers: dict[str, Callable[[bytes], str]] = {"focus": ours, "pdfminer.six": theirs}
    figures: dict[str, list[tuple[float, float, float]]] = {name: [] for name in readers}
    with Archive.open(options.archive) as archive:
        documents = [each for each in printed(archive, options.pages) if each[0].strip()]
    for text, document in documents:
        wanted = Words(segmenter.tokens(text))
        for name, read in readers.items():
            began = time.process_time()
            found_text = read(document)
            spent = 1000 * (time.process_time() - began)
            found = Words(segmenter.tokens(found_text))
            common = (wanted & found).total()
            shares = common / max(1, wanted.total()), common / max(1, found.total())
            figures[name].append((*shares, spent))
    rows = [
        [name, *map(statistics.fmean, zip(*rows, strict=True))] for name, rows in figures.items()
    ]
    print(f"{len(documents)} documents")
    print(table(["reader", "words recalled", "precision", "CPU ms a document"], rows), end="")
    if options.json:
        tell({name: each for name, *each in rows}, options.json, quiet=True)


if __name__ == "__main__":
    main()
