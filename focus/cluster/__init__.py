"""A crawl whose requests are made by workers on other machines, connected by RabbitMQ.

    messages — messages between frontier and workers
    queues — the queues and the exchange in the broker
    address — URL, password and certificate of a broker
    broker — connects to RabbitMQ, and again after each loss
    runtime — supplies the transport to `focus.session.run`
    transport — the frontier's side: publishes tasks, receives results
    worker — fetches and scores tasks
    reach — private addresses that a worker may request, by its own command line
    status — what the broker knows about a cluster
    private_broker — a RabbitMQ for tests, the demo and one machine

There is one frontier: the process of a crawl, with its database. When a URL is due, its task is
published; a worker fetches and scores the page and publishes the result; the crawl processes it as
if it had made the request itself. RabbitMQ redelivers the tasks of a dead worker, limits their
deliveries, and passes tasks that no worker survived to the frontier (dead letters).

The package must not be imported by the packages of a crawl on one machine.
"""
