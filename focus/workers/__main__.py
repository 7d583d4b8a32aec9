"""A scorer worker: started by the pool, of no use by hand."""

from focus.workers.child import main

main()
