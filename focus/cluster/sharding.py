"""Assigns each host to a shard, by the hash of its registrable domain."""

from __future__ import annotations

import re
import zlib
from functools import lru_cache

import msgspec

from focus.errors import ConfigError
from focus.urls.normal_form import registrable_domain

MOST = 1024
_WRITTEN = re.compile(r"(\d+)/(\d+)")


class Shard(msgspec.Struct, frozen=True):
    """Number `number` (from 1) of `of` frontiers."""

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def owns(self, host: str) -> bool:
        """Whether this frontier is the one that decides when `host` is asked."""
        return self.of == 1 or owner(host, self.of) == self.number


@lru_cache(maxsize=65_536)
def owner(host: str, of: int) -> int:
    """The number of the shard that owns a host[:port], 1…of; the same on every machine.

    By the registrable domain, so that the hosts of one site, which mostly link to each
    other, are one shard's.
    """
    domain = registrable_domain(host)
    return zlib.crc32(domain.encode("utf-8", "replace")) % of + 1


def read_shard(text: str) -> Shard:
    """`2/3` as a shard; ConfigError for anything else."""
    found = _WRITTEN.fullmatch(text.strip())
    if found is not None:
        number, of = int(found[1]), int(found[2])
        if 1 <= number <= of <= MOST:
            return Shard(number, of)
    raise ConfigError(
        "--shard {text}: is none; give its number and how many there are: 1/2", text=text
    )
