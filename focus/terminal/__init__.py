"""Progress, logs and summary of a crawl on a terminal.

    progress          figures of a running crawl, and the `Teller` interface
    live_line         one line that is redrawn
    logs              lines for people, JSON events, log files
    summary           a crawl's end, and its exit code
    judging           `focus judge`

Nearly everything here takes a record and gives a list of lines; who prints them is the command's
business. While a crawl runs, `progress` samples it and tells the tellers of `live_line` and `logs`;
none of them can change or end it, and a terminal that goes away does not either.

Whatever came off the web is made `printable` before it is shown. Data goes to standard output,
everything else to standard error.

What surprised us: a width in characters is no width. 足 is two cells wide, an accent none, and a
line that is one cell too long scrolls the screen at every redraw.
"""
