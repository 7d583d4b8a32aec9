"""Where does the time of a crawl go? `focus crawl --profile`, for users and for us.

    stopwatch   CPU time by stage; what a stage calls counts for the stage called
    stages      the names of the stages, and what is told of them: `Profile`
    crawl       watches the main process: the loop, and the store's thread
    worker      watches a scorer worker, page by page

Functions are wrapped while a profile is taken and put back afterwards, so that a crawl
without one costs nothing: no part of it knows of this package but `session`.
"""
