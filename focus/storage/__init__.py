"""Everything that is kept in a database: every SQL statement about crawls and alerts.

One SQLite file holds any number of crawls, and the alerts that are built on them. A crawl has
one writer (`focus.store`, in a thread, under a lock); readers and the alert store have
connections of their own and may run beside it. To read, in this order:

    schema, file_check           the tables, each column explained; what is wrong with a file
    lock, private                one crawl at a time; files that are their owner's alone
    writer, statements, columns, the writer's side: transactions, batches as statements, millions
    url_log                      of URLs read back at a restart, from logs of what was found and
                                 of better evidence
    reader, views, results,      the reader's side: status, why, results, links, and what a
    link_reader, evidence        priority was added up from
    page_checks                  how pages stand that are looked at again, and what has changed
    made_fields                  fields of a result that are made from its stored source
    table_file                   results as a database of one table, for other programs
    report_reader, figures,      a report's figures in one reading
    distributions, link_map
    search, search_index,        full-text search, in a file beside the database that can be
    search_file, search_terms,   deleted at any time
    passages
    labels                       what people say of pages, and what follows from it
    backup                       a copy made beside whoever writes, and put back
    cluster_leases, shard_merge  what a shard keeps more, and shards read as one
    alerts/                      people, alerts, matches, the outbox: see there

Nothing here decides: which URL is next, what matches, what is sent is asked for or handed in as
records. So these modules know `focus.records` and the pure rooms below, no event loop, no
network, and nobody who calls them. tests/test_sql_border.py holds that no statement stands
elsewhere (a knowledge base is a database of its own, focus/learn/kb).

What surprised us: whoever closes a descriptor of a database file drops all POSIX locks that its
process has on it, so that only SQLite may open it; a read that becomes a write fails at once
despite any timeout, so that writers begin with BEGIN IMMEDIATE; and Python gives the GIL away at
every step of a statement, so that rows are written and read in blocks.
"""
