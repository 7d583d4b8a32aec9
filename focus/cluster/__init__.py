"""One crawl on several machines: frontier shards and workers, joined by RabbitMQ (docs/cluster.md).

    messages, topology, broker, connection    what roles say, through which queues, and how they
                                              stay connected
    sharding          which shard owns a host
    transport         the crawl's side: tasks become leases, reports become results
    leases            tasks under way, and the ones whose worker was lost
    flow_control      how many tasks may be under way
    slot_share, shared_budget    a shard's part of the workers and of the limits
    forwarded_links   links to hosts of other shards
    membership        status of all shards; when the crawl ends
    shard_context     what the parts of a shard share
    publisher, consumer, heartbeat    what a shard sends, receives, and does every second
    batch_writer      a shard's batch, with the leases that end in it
    node              one shard: `focus.session.run` with all of the above as its runtime
    visits                        each visit of a watched site as a crawl of one shard
    worker, executor, result_publisher    a worker: its life, its tasks, its results
    reach             the private addresses that a worker may ask for: its own command line's
    launcher, control, private_broker, demo    all roles on one machine; status and orders

A URL waits in the frontier of the shard that owns its host. When its turn comes it gets a lease,
which is written to the shard's database before the task goes to the broker. A worker fetches and
scores it and publishes the result; it acknowledges the task when the broker has confirmed that. The
shard takes the result in as any crawl does, writes the batch, and only then acknowledges the
delivery. Links to other shards' hosts go through the database to their queues.

The broker may lose everything: it is never asked what is true. `leases`, `flow_control`,
`slot_share`, `shared_budget`, `membership`, `forwarded_links` and `sharding` decide, and know no
broker.

What surprised us: the end. All shards idle at one moment proves nothing, as a link may be under
way; it takes two looks (`membership`).
"""
