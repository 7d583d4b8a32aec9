"""`focus watch`: sites are visited again, and people are told of new pages about their topics.

An *alert* is what somebody wants to be told of: sites, words or a topic, when to look, and how
to be told. One run (`run`) does what is due:

    due alerts → visit their sites → match new pages → outbox → deliver

To read, in this order:

    alert, schedule, query,      what an alert may say: its checks, its times, its words;
    clock_change                 times move along with their owner's zone
    run                          one run, from what is due to what was delivered
    visit, revisits              a site is crawled on, by one crawl for all alerts on it; how
                                 soon a page is looked at again is learned from its news
    matching                     new pages against all alerts of a site, 500 in a transaction
    page_match, snippet,         what decides about one page: words, then the topic's judge;
    votes                        its passage, what votes have taught
    near_duplicates              which earlier text a page repeats
    outbox_lease, outbox_relay   which message goes next, and what becomes of it
    delivery_process             the relay as a small process that outlives its run
    message, delivery/           what people read, and the channels that bring it
    unsubscribe, addresses       one click that ends a channel; what may be an address
    preview, health              what would have come; how an alert fares
    settings, keyfile,           how mail is sent; the key that seals passwords and signs links;
    sealed_channels              addresses with tokens in them, sealed

What is due, what matches and what may go out is decided here; what is kept is asked of an
`AlertStore` (focus.storage.alerts), by methods that say what they mean. No module here knows a
connection or a statement of SQL, and none knows `focus serve` or the command line, which are
built of it.

What surprised us: a message may be sent and not yet noted when its process is killed, so that
only its id, the same when it is sent again, lets a receiver tell; and pages that merely repeat
others' news stop being looked at by themselves, because news counts for whoever told first.
"""
