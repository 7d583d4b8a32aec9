"""Fixtures that several tests share: small webs, sites, outboxes, clusters, browsers."""
