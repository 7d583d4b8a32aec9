"""One crawl on several machines: frontier shards and workers, connected by RabbitMQ.

    messages, topology — messages between roles; the queues that they go through
    address, broker, connection — connects to RabbitMQ, and again after every break
    sharding — which shard owns a host
    transport — the crawl's side: tasks become leases, reports become results
    leases — tasks at workers, and tasks whose worker was lost
    flow_control — how many tasks may be at workers
    slot_share, shared_budget — a shard's share of worker slots and of the limits of the crawl
    forwarded_links — links to hosts of other shards
    membership — status of all shards; when the crawl ends
    shard_context — objects that the parts of a shard share
    publisher, consumer, heartbeat — what a shard sends, receives, and does every second
    batch_writer — writes a shard's batch together with the leases that end in it
    node — one shard: the runtime that `focus.session.run` is given
    visits — visits of watched sites (`focus watch`) as crawls of one shard
    worker, executor, result_publisher — a worker: its life, its tasks, its results
    reach — private addresses that a worker may request, by its own command line
    launcher, private_broker, demo — all roles on one machine
    control — status of a cluster, and commands to it

A URL waits in the frontier of the shard that owns its host. When it is due it gets a lease, which
is written to the shard's database before the task goes to the broker. A worker fetches and scores
the page, publishes the result, and acknowledges the task when the broker has confirmed the result.
The shard processes the result like any crawl, writes the batch, and then acknowledges the delivery.
Links to hosts of other shards go through the database to the queues of those shards.

The broker may lose every message without loss for the crawl. `leases`, `flow_control`,
`slot_share`, `shared_budget`, `membership`, `forwarded_links` and `sharding` must not import the
broker.

The crawl ends when all shards have been idle at two consecutive checks (`membership`): at one check
alone a link may still be on its way. See docs/cluster.md.
"""
