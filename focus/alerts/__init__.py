"""`focus watch`: visit sites repeatedly and send messages about new pages on a topic.

    alert, schedule, clock_change — what an alert is; its times; changes of its owner's time zone
    query — the words of an alert
    run — one run: every alert that is due, from visit to delivery
    visit, revisits — a site is crawled once for all its alerts; how often it pays to visit it
    matching — new pages of a site against all its alerts, 500 pages in a transaction
    page_match, snippet — whether a page matches; the passage shown for it
    votes — what relevant and not relevant votes teach an alert
    near_duplicates — which earlier text a page repeats
    outbox_lease, outbox_relay — which message is sent next; the result of sending it
    delivery_process — the relay as a small process that outlives a run
    message — the text of a message
    delivery/ — channels: mail, SMS, webhook, feed
    unsubscribe, addresses — one click that ends a channel; valid addresses
    preview, health — what an alert would have sent; problems of an alert
    settings, keyfile, sealed_channels — settings of delivery; the secret key; encrypted addresses

Data flow: due alerts → visits of their sites → matches among the new pages → outbox → delivery.
`run` decides what is due, `matching` what matches, `outbox_relay` what is sent; an `AlertStore`
(`focus.storage.alerts`) stores it.

It must not contain SQL or import the web application or the commands, which are built on it.

A process may be killed after sending a message and before storing that. The message is then sent
again with the same id, by which a receiver can recognise it.
"""
