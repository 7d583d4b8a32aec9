"""focus: a focused web crawler, as a command line and as a library.

    cli, commands/   what is typed; terminal/ shows what is answered
    session          one run, whole: open or continue, crawl, close, report
    crawler          the loop: take, fetch, score, rank, record
    frontier         which URL next, and when; scheduling/ holds its parts
    admission/       whether a URL may be asked for at all
    fetch            a URL to an answer; http/ holds its parts
    archive/         recorded webs, in the place of the network
    html/ text/ urls/    a page, its words, its addresses
    workers/         processes in which pages are parsed and scored
    score/           relevance of a page, priority of a link
    engine/          what follows from an answer
    store, storage/  a crawl, written; every SQL statement; resume reads it back
    config records errors    the words everyone shares
    topic/ learn/    what a crawl is about; topics made and taught by examples
    metrics/ evaluate/ report/    how good a crawl was; strategies compared; pages for people
    alerts/ serve/   new pages told to people; the web application
    cluster/         one crawl on several machines
    demo/ profiling/ a generated web; where the time goes

docs/design.md tells the life of a URL and the levels in which these packages import each other;
`tests/test_house.py` holds the levels.
"""

__version__ = "0.1.0"
