"""The alert store: people, alerts, sites, matches and messages, kept for `alerts` and `serve`.

    with opened(path, now=…, language="en", zone="UTC") as store:
        number = store.alerts.add(LOCAL, alert, now=…)
        with store.transaction():                     # what stands in it, or nothing
            match = store.matches.add(…)
            store.outbox.enqueue(…)

To read, in this order:

    schema       the tables
    records      what crosses the border: frozen records, and no row
    database     one connection, short transactions that wait for each other
    store        `AlertStore`: the parts below over one connection, and `opened`
    alerts, sites, revisits, pages     what is watched, and what crawls brought
    matches, inbox                     what was found, by alert and by person
    search_access                      whose search reaches which crawls
    outbox                             what has to go out, and the delivery log
    users, tokens, browsers,           people, their secrets, what notifies them;
    installation                       settings and audit

A method is named by what it means, makes a transaction of its own, and is part of the caller's
where there is one. It decides nothing: what is due, what may go and what is news is said by
`focus.alerts`, which this package must not know.
"""
