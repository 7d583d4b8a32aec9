"""Alert store: users, alerts, sites, matches and messages, for `alerts` and `serve`.

    with open_store(path, now=…, language="en", zone="UTC") as store:
        number = store.alerts.add(LOCAL_USER, alert, now=…)
        with store.transaction():                     # all of it or nothing
            match = store.matches.add(…)
            store.outbox.enqueue(…)

Modules:

    alert_tables.sql — the tables
    records — the records that methods receive and return
    database — one connection with short transactions
    store — `AlertStore`: the classes below over one connection; `open_store`
    alerts, sites, revisits, pages — alerts, their sites, and the stored pages of these
    matches, inbox — matches by alert and by user
    search_access — the crawls that a user may search
    outbox — messages to send, and the delivery log
    users, tokens — users and their secrets
    installation — settings, audit log, failed attempts

Each method runs in a transaction of its own, or in that of the caller if there is one.

It must not decide anything: `focus.alerts` decides what is due, what is sent and what is new. It
must not import `focus.alerts`.
"""
