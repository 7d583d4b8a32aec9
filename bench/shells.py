"""Counts the pages of a recorded web that seem to need scripts, by what they lack, and the cost.

    python -m bench.shells ARCHIVE [--pages 3000] [--show 3]

Pages are drawn as by `bench.pages`: evenly over the hosts. The cost is CPU time of the look alone,
on pages that are parsed already.
"""

import time
from collections import Counter, defaultdict
from pathlib import Path

import click

from bench.pages import draw
from focus.archive.replay import Archive
from focus.html.parser import parse
from focus.html.shell import lack
from focus.text.charset import decode


@click.command(help=__doc__)
@click.argument("archive", type=click.Path(path_type=Path, exists=True))
@click.option("--pages", default=3000)
@click.option("--show", default=3, help="Addresses for each sign.")
def main(archive: Path, pages: int, show: int) -> None:
    """Draw, look, tell."""
    with Archive.open(archive) as web:
        drawn = draw(web, pages)
    signs: Counter[str] = Counter()
    examples: dict[str, list[str]] = defaultdict(list)
    spent = 0.0
    for page in drawn:
        source = decode(page.body, page.content_type)[0].encode("utf-8", "replace")
        parsed = parse(source)
        before = time.process_time()
        sign = lack(parsed, source)
        spent += time.process_time() - before
        if sign.is_shell:
            signs[sign] += 1
            examples[sign].append(page.url)
    total = sum(signs.values())
    print(
        f"{total} of {len(drawn)} pages ({total / len(drawn):.2%}) seem to need scripts;", end=" "
    )
    print(f"the look takes {1e6 * spent / len(drawn):.0f} µs of CPU a page")
    for sign, count in signs.most_common():
        print(f"{count:6} {sign}")
        for url in examples[sign][:: max(1, count // show)][:show]:
            print(f"       {url}")


if __name__ == "__main__":
    main()
