"""Prints the table of behaviours, or serves them to play with."""

import argparse
import asyncio
import contextlib

from tests.hostile.server import HostileServer
from tests.hostile.table import GROUPS, printed, table


async def _serve(port: int) -> None:
    async with HostileServer(table()).serve(port) as server:
        print(f"All behaviours on 127.0.0.1:{server.port} by Host header, for example:")
        here = f"127.0.0.1:{server.port}"
        print(f"  curl -m 5 -o /dev/null --connect-to ::{here} http://bomb-gzip.test/x")
        print(f"  focus crawl --seed http://hub.test:{server.port}/ --topic x --delay 0 \\")
        print(f"    --connect-to {here} --allow-net 127.0.0.1/32 --db play.db")
        print("Ctrl-C ends it; then come the requests.")
        try:
            await asyncio.Event().wait()
        finally:
            for hit in server.log:
                print(f"{hit.seconds:8.2f} s {hit.sent:>12,} bytes  {hit.host}{hit.path[:80]!r}")
            print(
                f"{len(server.log)} requests, {len(server.tripped)} contacts to the private address"
            )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--serve", action="store_true", help="serve until Ctrl-C")
    parser.add_argument("--port", type=int, default=8666, help="default: 8666")
    options = parser.parse_args()
    if options.serve:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_serve(options.port))
        return
    for group, cases in GROUPS.items():
        print(f"\n## {group} ({len(cases)})\n\n{printed(cases)}")
    print(f"\n{len(table())} behaviours")


main()
