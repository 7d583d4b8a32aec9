"""One crawl on several machines: frontier shards and workers, joined by RabbitMQ."""
