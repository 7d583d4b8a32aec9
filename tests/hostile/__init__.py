"""A server that does to a crawler what the web does, and worse; and what is expected then.

    case       what a behaviour is: its id, what it does, what is expected
    server     raw sockets that act the behaviours out, and a log of everything
    table      all behaviours; each of the other modules has those of one group

`python -m tests.hostile` prints the table, `python -m tests.hostile --serve` lets one play.
"""
