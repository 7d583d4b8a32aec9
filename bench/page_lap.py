"""Analyses pages once and prints the CPU time; `bench.pages` runs it for each checkout.

    python bench/page_lap.py PAGES TOPIC RELEVANCE

It imports only `focus`, so that PYTHONPATH selects the checkout to measure.
"""

import hashlib
import json
import sys
import time
from pathlib import Path

import msgspec

from focus.config import AnalysisConfig
from focus.score.analysis import PageScorer
from focus.topic.topic import from_words, to_builtins
from focus.workers.messages import ScoredPages, encode_frame

EXTRA = "worker_s", "stages"


def main() -> None:
    """Print CPU time per page, mean size and digest as JSON."""
    pages = msgspec.msgpack.decode(Path(sys.argv[1]).read_bytes())
    topic = to_builtins(from_words(sys.argv[2]))
    config = AnalysisConfig(topic=topic, relevance=sys.argv[3], url_patterns=True)
    analyst = PageScorer(config)
    digest, spent = hashlib.blake2b(digest_size=8), 0.0
    analyst.score(*pages[0])  # the first page loads dictionaries
    for url, body, kind in pages:
        began = time.process_time()
        page = analyst.score(url, body, kind)
        encode_frame(ScoredPages([page]))
        spent += time.process_time() - began
        result = {name: getattr(page, name) for name in page.__struct_fields__ if name not in EXTRA}
        result["relevance"] = round(page.relevance, 9)
        digest.update(msgspec.json.encode(result, order="sorted"))
    size = sum(len(body) for _, body, _ in pages) // len(pages)
    ms = 1000 * spent / len(pages)
    print(json.dumps({"ms": ms, "bytes_mean": size, "digest": digest.hexdigest()}))


if __name__ == "__main__":
    main()
