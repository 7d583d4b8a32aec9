"""Databases: every SQL statement about crawls and alerts.

    schema, crawl_tables.sql — views, versions and row ids; the tables with all columns explained
    file_check — errors of a database file
    lock, private — one crawl at a time per database; files with mode 0600
    writer, statements — functions behind `focus.store`; a batch as SQL statements
    columns, url_log — millions of URLs read at a restart; the logs that they are read from
    reader, views — status, why, links and results; the records that they return
    results, computed_fields — SQL for results; fields computed from the stored source of a page
    link_reader, evidence — links of pages; how the priority of a URL adds up
    revisited_pages — revisited pages: their state, and what changed
    table_file, whole_file — results as an SQLite file; files written as a whole or not at all
    report_reader, figures — the figures of a report
    request_uses — what the requests of a crawl returned, and which --deny would have helped
    term_uses — related terms that decided about relevant pages
    distributions, best_pages — how pages spread over a crawl; its best pages and hubs
    search, search_terms, passages — full-text search: queries, words, excerpts
    search_index, search_file — the search index, a file beside the database that may be deleted
    labels — labels of stored pages, and what follows from them
    backup — copies a database that is in use, and restores it
    alerts/ — users, alerts, matches, outbox

One SQLite file contains any number of crawls, and the alerts that are built on them. A crawl has
one writer (`focus.store`, in a thread, under a lock). Readers and the alert store have connections
of their own and may run at the same time.

It must not decide anything: which URL is next, what matches and what is sent are arguments or
results. It must not import event loops, the network or its callers. No other package contains SQL,
except knowledge bases (`focus.learn.kb`); tests/test_store.py checks that.

Closing any descriptor of a database file drops all POSIX locks of the process on it, so only SQLite
opens these files. A read transaction that becomes a write fails at once in spite of any timeout, so
writers begin with BEGIN IMMEDIATE. Python releases the GIL at every step of a statement, so rows
are read and written in blocks.
"""
